"""ccxt against a venue that speaks as Deribit: every step of a trading day, one line each.

    python ccxt_deribit.py PORT

Prints `step verdict` lines; exits 1 when a step fails. Nothing in ccxt is changed but its URLs.
"""
import asyncio
import sys
import traceback

import ccxt.pro

PERPETUAL = "BTC/USD:BTC"


def client(port, account):
    exchange = ccxt.pro.deribit({
        "apiKey": account,
        "secret": f"secret-of-{account}",
        "enableRateLimit": False,
        "newUpdates": True,
    })
    exchange.urls["api"]["rest"] = f"http://127.0.0.1:{port}"
    exchange.urls["api"]["ws"] = f"ws://127.0.0.1:{port}/ws/api/v2"
    return exchange


async def within(seconds, waited):
    return await asyncio.wait_for(waited, seconds)


class Run:
    def __init__(self):
        self.failed = 0

    async def step(self, name, act):
        try:
            said = await within(60, act())
            print(f"{name}: ok{' (' + str(said) + ')' if said else ''}", flush=True)
        except Exception as error:  # the verdict is what is reported
            self.failed += 1
            print(f"{name}: FAILED {type(error).__name__}: {error}", flush=True)
            traceback.print_exc()


async def main(port):
    run = Run()
    one, two = client(port, "one"), client(port, "two")
    kept = {}

    async def load_markets():
        markets = await one.load_markets()
        await two.load_markets()
        assert PERPETUAL in markets, sorted(markets)
        kinds = {market["type"] for market in markets.values()}
        assert {"swap", "future", "option", "spot"} <= kinds, kinds
        return f"{len(markets)} markets"

    async def fetch_book():
        book = await one.fetch_order_book(PERPETUAL)
        assert book["bids"][0][0] < book["asks"][0][0]

    async def fetch_ticker():
        ticker = await one.fetch_ticker(PERPETUAL)
        assert ticker["bid"] < ticker["ask"], ticker

    async def watch_book():
        """Books of the stream equal those that are asked for, at the same change id."""
        asked, seen, is_over = {}, {}, False

        def levels(side):
            return [(float(level[0]), float(level[1])) for level in side]

        async def ask():
            while not is_over:
                arguments = {"instrument_name": "BTC-PERPETUAL", "depth": 1000}
                book = (await two.public_get_get_order_book(arguments))["result"]
                asked[int(book["change_id"])] = (levels(book["bids"]), levels(book["asks"]))

        asking = asyncio.ensure_future(ask())
        # Its book does not show the change id: who looks on notes it with each message.
        take = one.handle_order_book

        def noting(connection, message):
            take(connection, message)
            data = message["params"]["data"]
            book = one.orderbooks[PERPETUAL]
            seen[data["change_id"]] = (levels(book["bids"]), levels(book["asks"]))

        one.handle_order_book = noting
        try:
            while len(asked.keys() & seen.keys()) < 5:
                book = await one.watch_order_book(PERPETUAL)
                assert book["bids"][0][0] < book["asks"][0][0]
        finally:
            is_over = True
            one.handle_order_book = take
            await asking
        both = asked.keys() & seen.keys()
        for change_id in both:
            assert asked[change_id] == seen[change_id], (change_id, asked[change_id], seen[change_id])
        return f"equal at {len(both)} change ids"

    async def watch_trades():
        trades = await one.watch_trades(PERPETUAL)
        assert trades[0]["price"] > 0

    async def watch_ticker():
        ticker = await one.watch_ticker(PERPETUAL)
        assert ticker["symbol"] == PERPETUAL

    async def create():
        kept["before"] = await one.fetch_balance({"code": "BTC"})
        ticker = await one.fetch_ticker(PERPETUAL)
        price = round(ticker["bid"] * 0.97)
        order = await one.create_order(PERPETUAL, "limit", "buy", 100, price, {"label": "first"})
        assert order["status"] == "open" and order["filled"] == 0, order
        kept["order"] = order

    async def edit():
        order = kept["order"]
        edited = await one.edit_order(order["id"], PERPETUAL, "limit", "buy", 150, order["price"] - 10)
        assert edited["id"] == order["id"] and edited["amount"] == 150, edited
        assert edited["price"] == order["price"] - 10, edited

    async def open_orders():
        orders = await one.fetch_open_orders(PERPETUAL)
        assert [order["id"] for order in orders] == [kept["order"]["id"]], orders
        order = await one.fetch_order(kept["order"]["id"], PERPETUAL)
        assert order["info"]["label"] == "first", order

    async def cancel():
        await one.cancel_order(kept["order"]["id"], PERPETUAL)
        assert await one.fetch_open_orders(PERPETUAL) == []
        order = await one.fetch_order(kept["order"]["id"], PERPETUAL)
        assert order["status"] == "canceled", order

    async def partial_fill():
        """One quotes at the touch of its own making, two takes part of it."""
        book = await one.fetch_order_book(PERPETUAL)
        # Better than everybody: what crosses on the way is a fill too.
        price = book["bids"][0][0] + 0.5
        for _ in range(40):
            order = await one.create_order(PERPETUAL, "limit", "buy", 5000, price, {"label": "part"})
            await two.create_order(PERPETUAL, "limit", "sell", 10, price, {"timeInForce": "IOC"})
            order = await one.fetch_order(order["id"], PERPETUAL)
            if order["status"] == "open" and 0 < order["filled"] < 5000:
                kept["part"] = order
                return f"{order['filled']} of 5000"
            if order["status"] == "open":
                await one.cancel_order(order["id"], PERPETUAL)
            book = await one.fetch_order_book(PERPETUAL)
            price = book["bids"][0][0] + 0.5
        raise AssertionError("no partial fill")

    async def my_trades():
        trades = await one.fetch_my_trades(PERPETUAL)
        assert any(trade["order"] == kept["part"]["id"] for trade in trades), trades
        assert all(trade["fee"]["cost"] is not None for trade in trades)

    async def positions():
        positions = await one.fetch_positions([PERPETUAL])
        assert positions and positions[0]["contracts"] > 0, positions

    async def balance():
        balance = await one.fetch_balance({"code": "BTC"})
        assert balance["BTC"]["total"] > 99, balance["BTC"]

    async def watch_orders():
        waiting = asyncio.ensure_future(one.watch_orders(PERPETUAL))
        ticker = await one.fetch_ticker(PERPETUAL)
        price = round(ticker["bid"] * 0.96)
        while not waiting.done():
            order = await one.create_order(PERPETUAL, "limit", "buy", 10, price)
            await one.cancel_order(order["id"], PERPETUAL)
            await asyncio.wait([waiting], timeout=0.2)
        orders = waiting.result()
        assert orders[0]["symbol"] == PERPETUAL, orders

    async def watch_my_trades():
        waiting = asyncio.ensure_future(two.watch_my_trades(PERPETUAL))
        while not waiting.done():
            await two.create_order(PERPETUAL, "market", "buy", 10)
            await asyncio.wait([waiting], timeout=0.2)
        assert waiting.result()[0]["takerOrMaker"] == "taker", waiting.result()

    async def refusals():
        async def refused(kind, act):
            try:
                await act
            except kind:
                return
            raise AssertionError(f"no {kind.__name__}")
        await refused(ccxt.OrderNotFound, one.cancel_order("1", PERPETUAL))
        await refused(ccxt.InsufficientFunds, one.create_order(PERPETUAL, "limit", "buy", 10**9, 50000))
        wrong = client(port, "one")
        wrong.secret = "wrong"
        try:
            await refused(ccxt.AuthenticationError, wrong.fetch_balance({"code": "BTC"}))
        finally:
            await wrong.close()

    async def reconnect():
        orders = await one.fetch_open_orders(PERPETUAL)
        await one.close()
        again = client(port, "one")
        try:
            await again.load_markets()
            assert await again.fetch_open_orders(PERPETUAL) == orders or orders
            before = {order["id"] for order in orders}
            after = {order["id"] for order in await again.fetch_open_orders(PERPETUAL)}
            assert after <= before, (before, after)
            book = await again.watch_order_book(PERPETUAL)
            assert book["bids"]
            await again.cancel_all_orders(PERPETUAL)
            assert await again.fetch_open_orders(PERPETUAL) == []
        finally:
            await again.close()

    steps = [load_markets, fetch_book, fetch_ticker, watch_book, watch_trades, watch_ticker, create, edit,
             open_orders, cancel, partial_fill, my_trades, positions, balance, watch_orders,
             watch_my_trades, refusals, reconnect]
    try:
        for step in steps:
            await run.step(step.__name__, step)
    finally:
        await one.close()
        await two.close()
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]))))
