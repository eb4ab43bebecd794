"""ccxt (ccxt.pro) in one book with others: python ccxt_client.py deribit|binance PORT ACCOUNT SEED."""
import asyncio
import contextlib
import sys

import ccxt.pro

from agreement import Refused, Trader, Unknown, number, say


@contextlib.contextmanager
def outcomes():
    """Everything that it asks of Deribit is a GET. aiohttp sends one again, as it was signed, where a connection ends that
    was used before (retry_persistent_connection in aiohttp/client.py), and the venue refuses a nonce that it has seen:
    what became of the first is not known."""
    try:
        yield
    except ccxt.AuthenticationError as error:
        raise (Unknown if '"invalid":"nonce"' in str(error) else Refused) from error
    except ccxt.NetworkError as error:
        raise Unknown from error
    except ccxt.ExchangeError as error:
        raise Refused from error


class Ccxt(Trader):
    def __init__(self, port, account, seed):
        super().__init__(account, seed)
        self.port, self.account_name = port, account
        self.exchange = self.following = None

    def client(self):
        settings = {"apiKey": self.account_name, "secret": f"secret-of-{self.account_name}",
                    "enableRateLimit": False, "newUpdates": True}
        return self.at_venue(settings)

    async def begin(self):
        self.exchange = self.client()
        for attempt in range(20):
            try:
                await self.exchange.load_markets()
                break
            except ccxt.NetworkError:
                await asyncio.sleep(0.1)
        self.following = asyncio.ensure_future(self.follow())

    async def follow(self):
        while True:
            try:
                await asyncio.wait_for(self.exchange.watch_order_book(self.symbol), self.silence())
                self.books += 1
            except asyncio.TimeoutError as error:
                await self.connect_again(error)
            except ccxt.BaseError as error:
                self.lost(error)
                await asyncio.sleep(0.05)

    async def connect_again(self, error):
        """At Binance it reads a snapshot when its SUBSCRIBE is answered, and drops what comes before
        (handle_order_book_subscription and handle_order_book in ccxt/pro/binance.py of 4.5.90). Where that answer is
        lost it never asks again, and its call waits for as long as the connection lasts."""
        say("note its book was silent: its user had it connect again")
        await self.exchange.close_ws_clients()
        self.lost(error)

    async def read_again(self):
        """With a new client: its user trusts nothing of the old one."""
        self.following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.following
        await self.exchange.close()
        await self.begin()

    async def end(self):
        self.following.cancel()
        await self.exchange.close()

    async def place(self, name, side, price, amount):
        with outcomes():
            order = await self.exchange.create_order(self.symbol, "limit", side, amount, price, {self.named: name})
            return (name, (order["id"], side)) if order["status"] == "open" else None

    async def cancel(self, name, order):
        with outcomes():
            await self.exchange.cancel_order(order, self.symbol)


class AtBinance(Ccxt):
    symbol, named = "BTC/USDT", "newClientOrderId"
    tick, digits, sizes = 0.01, 2, (0.001, 0.004, 0.02)

    def at_venue(self, settings):
        exchange = ccxt.pro.binance(settings)
        api = exchange.urls["api"]
        for name, url in list(api.items()):
            if isinstance(url, str):
                api[name] = f"http://127.0.0.1:{self.port}/" + url.split("://")[1].split("/", 1)[1]
        # ccxt knows spot streams by `/stream` in their address: here the user's name before the host.
        api["ws"]["spot"] = f"ws://stream@127.0.0.1:{self.port}/ws"
        api["ws"]["ws-api"]["spot"] = f"ws://127.0.0.1:{self.port}/ws-api/v3"
        return exchange

    def lost(self, _error):
        # A gap, or the connection: it reads the book again with the next call.
        self.rereads += 1

    def book(self):
        book = self.exchange.orderbooks.get(self.symbol)
        if not book or book["nonce"] is None:
            return -1, [], []
        return int(book["nonce"]), list(book["bids"]), list(book["asks"])

    async def change(self, _name, order, again, side, price, amount):
        with outcomes():
            edited = await self.exchange.edit_order(order, self.symbol, "limit", side, amount, price,
                                                    {"newClientOrderId": again})
            return (again, (edited["id"], side)) if edited["status"] == "open" else None

    async def find(self, name):
        with outcomes():
            try:
                order = await self.exchange.fetch_order("", self.symbol, {"origClientOrderId": name})
            except ccxt.OrderNotFound:
                return None
            return order["id"], order["side"], order["status"] == "open"

    async def orders(self):
        with outcomes():
            return [[it["clientOrderId"], it["side"], number(it["price"]), number(it["amount"]), number(it["filled"])]
                    for it in await self.exchange.fetch_open_orders(self.symbol)]

    async def account(self):
        with outcomes():
            balance = await self.exchange.fetch_balance()
            return {"balances": {coin: [number(balance[coin]["total"]), number(balance[coin]["free"])]
                                 for coin in ("BTC", "USDT")}}


class AtDeribit(Ccxt):
    symbol, named, market = "BTC/USD:BTC", "label", "BTC-PERPETUAL"
    tick, digits, sizes = 0.5, 1, (10, 30, 200)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.at, self.missed = -1, 0

    def at_venue(self, settings):
        exchange = ccxt.pro.deribit(settings)
        exchange.urls["api"]["rest"] = f"http://127.0.0.1:{self.port}"
        exchange.urls["api"]["ws"] = f"ws://127.0.0.1:{self.port}/ws/api/v2"
        take = exchange.handle_order_book
        self.at = -1

        def looking(connection, message):
            """Its book does not show the change id, and it does not look at the one before."""
            data = message["params"]["data"]
            self.missed += self.at >= 0 and data.get("prev_change_id") != self.at
            self.at = data["change_id"]
            take(connection, message)

        exchange.handle_order_book = looking
        return exchange

    def lost(self, _error):
        # The next snapshot comes into the book that it has: levels that are gone would stay.
        self.missed += 1
        self.at = -1

    def book(self):
        book = self.exchange.orderbooks.get(self.symbol)
        return (self.at, list(book["bids"]), list(book["asks"])) if book else (-1, [], [])

    async def book_at(self, change):
        if self.missed:
            say(f"note it did not notice {self.missed} breaks of its book (it does not look at prev_change_id, and keeps "
                "levels over a connection's end): its user had it read again")
            self.missed = 0
            self.rereads += 1
            await self.read_again()
            await self.top()
        return await super().book_at(change)

    async def change(self, name, order, _again, side, price, amount):
        with outcomes():
            edited = await self.exchange.edit_order(order, self.symbol, "limit", side, amount, price)
            return (name, (edited["id"], side)) if edited["status"] == "open" else None

    async def find(self, name):
        with outcomes():
            found = await self.exchange.private_get_get_order_state_by_label({"currency": "BTC", "label": name})
            if not found["result"]:
                return None
            order = found["result"][0]
            return order["order_id"], order["direction"], order["order_state"] == "open"

    async def orders(self):
        with outcomes():
            return [[it["info"]["label"], it["side"], number(it["price"]), number(it["amount"]), number(it["filled"])]
                    for it in await self.exchange.fetch_open_orders(self.symbol)]

    async def account(self):
        with outcomes():
            balance = (await self.exchange.fetch_balance({"code": "BTC"}))["BTC"]
            positions = await self.exchange.fetch_positions([self.symbol])
            return {"balances": {"BTC": [number(balance["total"]), number(balance["free"])]},
                    "position": number(positions[0]["contracts"] if positions else 0)}


if __name__ == "__main__":
    _, venue, *rest = sys.argv
    asyncio.run({"binance": AtBinance, "deribit": AtDeribit}[venue](*rest).run())
