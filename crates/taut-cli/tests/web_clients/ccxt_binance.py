"""ccxt against a venue that speaks as Binance's spot market: every step of a trading day, a line each.

    python ccxt_binance.py PORT

Prints `step: verdict` lines; exits 1 when a step fails. Nothing in ccxt is changed but its URLs.
"""
import asyncio
import sys
import traceback

import ccxt.pro

SYMBOL = "BTC/USDT"


def client(port, account):
    exchange = ccxt.pro.binance({
        "apiKey": account,
        "secret": f"secret-of-{account}",
        "enableRateLimit": False,
        "newUpdates": True,
    })

    def here(url):
        return f"http://127.0.0.1:{port}/" + url.split("://")[1].split("/", 1)[1]

    api = exchange.urls["api"]
    for name, url in list(api.items()):
        if isinstance(url, str):
            api[name] = here(url)
    # ccxt knows spot streams by `/stream` in their address: here the user's name before the host.
    api["ws"]["spot"] = f"ws://stream@127.0.0.1:{port}/ws"
    api["ws"]["ws-api"]["spot"] = f"ws://127.0.0.1:{port}/ws-api/v3"
    return exchange


class Run:
    def __init__(self):
        self.failed = 0

    async def step(self, name, act):
        try:
            said = await asyncio.wait_for(act(), 60)
            print(f"{name}: ok{' (' + str(said) + ')' if said else ''}", flush=True)
        except Exception as error:  # the verdict is what is reported
            self.failed += 1
            print(f"{name}: FAILED {type(error).__name__}: {error}", flush=True)
            traceback.print_exc()


async def refused(kind, act):
    try:
        await act
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


async def main(port):
    run = Run()
    one, two = client(port, "one"), client(port, "two")
    kept = {}

    async def load_markets():
        markets = await one.load_markets()
        await two.load_markets()
        market = markets[SYMBOL]
        assert (market["precision"]["price"], market["precision"]["amount"]) == (0.01, 1e-05), market
        assert market["limits"]["cost"]["min"] == 5, market["limits"]
        return f"{len(markets)} markets"

    async def time_and_status():
        assert abs(await one.fetch_time() - one.milliseconds()) < 10_000
        assert (await one.fetch_status())["status"] == "ok"

    async def fetch_book():
        book = await one.fetch_order_book(SYMBOL)
        assert book["bids"][0][0] < book["asks"][0][0]

    async def fetch_tickers():
        ticker = await one.fetch_ticker(SYMBOL)
        assert ticker["bid"] < ticker["ask"], ticker
        assert set(await one.fetch_tickers([SYMBOL, "ETH/USDT"])) == {SYMBOL, "ETH/USDT"}
        top = await one.fetch_bids_asks([SYMBOL])
        assert top[SYMBOL]["bid"] < top[SYMBOL]["ask"]

    async def fetch_trades():
        for _ in range(100):
            trades = await one.fetch_trades(SYMBOL)
            candles = await one.fetch_ohlcv(SYMBOL, "1m")
            if trades and candles:
                break
            await asyncio.sleep(0.1)
        assert trades[-1]["price"] > 0 and candles[-1][4] > 0, (trades, candles)

    async def watch_book():
        """Books of the stream equal those that are asked for, at the same update id."""
        asked, seen, is_over = {}, {}, False

        def levels(side):
            return [(float(level[0]), float(level[1])) for level in side]

        async def ask():
            while not is_over:
                book = await two.public_get_depth({"symbol": "BTCUSDT", "limit": 100})
                asked[int(book["lastUpdateId"])] = (levels(book["bids"]), levels(book["asks"]))
                await asyncio.sleep(0.01)  # request weight: 6000 a minute

        asking = asyncio.ensure_future(ask())
        try:
            while len(set(asked) & set(seen)) < 20:
                book = await one.watch_order_book(SYMBOL)
                seen[int(book["nonce"])] = (levels(book["bids"])[:100], levels(book["asks"])[:100])
        finally:
            is_over = True
            await asking
        both = set(asked) & set(seen)
        for update in both:
            assert asked[update] == seen[update], (update, asked[update], seen[update])
        return f"equal at {len(both)} update ids"

    async def watch_trades():
        trades = await one.watch_trades(SYMBOL)
        assert trades[0]["price"] > 0

    async def watch_ticker():
        ticker = await one.watch_ticker(SYMBOL)
        assert ticker["symbol"] == SYMBOL and ticker["last"] > 0, ticker

    async def watch_top():
        top = await one.watch_bids_asks([SYMBOL])
        assert top[SYMBOL]["bid"] < top[SYMBOL]["ask"], top

    async def watch_candles():
        candles = await one.watch_ohlcv(SYMBOL, "1m")
        assert candles[-1][2] >= candles[-1][3] > 0, candles

    async def create():
        kept["before"] = await one.fetch_balance()
        ticker = await one.fetch_ticker(SYMBOL)
        price = round(ticker["bid"] * 0.97)
        order = await one.create_order(SYMBOL, "limit", "buy", 0.1, price, {"newClientOrderId": "first"})
        assert order["status"] == "open" and order["filled"] == 0, order
        after = await one.fetch_balance()
        assert abs(after["USDT"]["used"] - kept["before"]["USDT"]["used"] - 0.1 * price) < 1e-6, after["USDT"]
        kept["order"] = order

    async def edit():
        order = kept["order"]
        edited = await one.edit_order(order["id"], SYMBOL, "limit", "buy", 0.15, order["price"] - 10)
        assert edited["id"] != order["id"] and edited["amount"] == 0.15, edited
        assert edited["price"] == order["price"] - 10, edited
        kept["order"] = edited

    async def open_orders():
        orders = await one.fetch_open_orders(SYMBOL)
        assert [order["id"] for order in orders] == [kept["order"]["id"]], orders
        order = await one.fetch_order(kept["order"]["id"], SYMBOL)
        assert order["status"] == "open" and order["amount"] == 0.15, order
        assert "first" in {order["clientOrderId"] for order in await one.fetch_orders(SYMBOL)}

    async def cancel():
        await one.cancel_order(kept["order"]["id"], SYMBOL)
        assert await one.fetch_open_orders(SYMBOL) == []
        order = await one.fetch_order(kept["order"]["id"], SYMBOL)
        assert order["status"] == "canceled", order
        after = await one.fetch_balance()
        assert after["USDT"]["used"] == kept["before"]["USDT"]["used"], after["USDT"]

    async def partial_fill():
        """One quotes at the touch of its own making, two takes part of it."""
        for _ in range(40):
            book = await one.fetch_order_book(SYMBOL)
            price = book["bids"][0][0] + 0.01
            order = await one.create_order(SYMBOL, "limit", "buy", 5, price)
            await two.create_order(SYMBOL, "limit", "sell", 0.01, price, {"timeInForce": "IOC"})
            order = await one.fetch_order(order["id"], SYMBOL)
            if order["status"] == "open" and 0 < order["filled"] < 5:
                kept["part"] = order
                return f"{order['filled']} of 5"
            if order["status"] == "open":
                await one.cancel_order(order["id"], SYMBOL)
        raise AssertionError("no partial fill")

    async def market_order():
        order = await two.create_order(SYMBOL, "market", "buy", 0.001)
        assert order["status"] == "closed" and order["filled"] == 0.001 and order["fees"], order
        order = await two.create_market_buy_order_with_cost(SYMBOL, 50)
        assert order["status"] == "closed" and 48 < order["cost"] <= 50, order

    async def my_trades():
        trades = await one.fetch_my_trades(SYMBOL)
        mine = [trade for trade in trades if trade["order"] == kept["part"]["id"]]
        assert mine and all(trade["fee"]["currency"] == "BTC" for trade in mine), trades
        assert abs(sum(trade["amount"] for trade in mine) - kept["part"]["filled"]) < 5

    async def balance():
        """What was bought less what it cost in fees is what there is more."""
        await one.cancel_all_orders(SYMBOL)
        trades = await one.fetch_my_trades(SYMBOL)
        bought = sum(trade["amount"] - trade["fee"]["cost"] for trade in trades)
        paid = sum(trade["cost"] for trade in trades)
        after, before = await one.fetch_balance(), kept["before"]
        assert abs(after["BTC"]["total"] - before["BTC"]["total"] - bought) < 1e-7, (after["BTC"], bought)
        assert abs(before["USDT"]["total"] - after["USDT"]["total"] - paid) < 1e-4, (after["USDT"], paid)
        assert after["USDT"]["used"] == 0, after["USDT"]

    async def watch_orders():
        waiting = asyncio.ensure_future(one.watch_orders(SYMBOL))
        ticker = await one.fetch_ticker(SYMBOL)
        price = round(ticker["bid"] * 0.96)
        while not waiting.done():
            order = await one.create_order(SYMBOL, "limit", "buy", 0.01, price)
            await one.cancel_order(order["id"], SYMBOL)
            await asyncio.wait([waiting], timeout=0.2)
        orders = waiting.result()
        assert orders[0]["symbol"] == SYMBOL, orders

    async def watch_my_trades():
        waiting = asyncio.ensure_future(two.watch_my_trades(SYMBOL))
        while not waiting.done():
            await two.create_order(SYMBOL, "market", "buy", 0.001)
            await asyncio.wait([waiting], timeout=0.2)
        assert waiting.result()[0]["takerOrMaker"] == "taker", waiting.result()

    async def watch_balance():
        waiting = asyncio.ensure_future(two.watch_balance())
        while not waiting.done():
            await two.create_order(SYMBOL, "market", "sell", 0.001)
            await asyncio.wait([waiting], timeout=0.2)
        assert waiting.result()["BTC"]["total"] > 99, waiting.result()

    async def orders_by_websocket():
        ticker = await one.fetch_ticker(SYMBOL)
        price = round(ticker["bid"] * 0.95)
        order = await one.create_order_ws(SYMBOL, "limit", "buy", 0.01, price)
        assert order["status"] == "open", order
        edited = await one.edit_order_ws(order["id"], SYMBOL, "limit", "buy", 0.02, price - 1)
        assert edited["amount"] == 0.02, edited
        found = await one.fetch_open_orders_ws(SYMBOL)
        assert [it["id"] for it in found] == [edited["id"]], found
        await one.cancel_order_ws(edited["id"], SYMBOL)
        assert (await one.fetch_order_ws(edited["id"], SYMBOL))["status"] == "canceled"
        assert await one.fetch_my_trades_ws(SYMBOL)
        # ccxt does not parse a spot account here: the answer as it came.
        account = (await one.fetch_balance_ws())["info"]
        assert {"BTC", "USDT"} <= {it["asset"] for it in account["balances"]}, account

    async def refusals():
        await refused(ccxt.OrderNotFound, one.cancel_order("1", SYMBOL))
        await refused(ccxt.OrderNotFound, one.fetch_order("1", SYMBOL))
        await refused(ccxt.InsufficientFunds, one.create_order(SYMBOL, "limit", "buy", 8000, 50000))
        ask = (await one.fetch_ticker(SYMBOL))["ask"]
        await refused(ccxt.OrderImmediatelyFillable,
                      one.create_order(SYMBOL, "limit", "buy", 0.01, ask + 5, {"postOnly": True}))
        await refused(ccxt.BadRequest, one.create_order(SYMBOL, "limit", "buy", 0.00001, 50000))
        wrong = client(port, "one")
        wrong.secret = "wrong"
        unknown = client(port, "nobody")
        try:
            await refused(ccxt.AuthenticationError, wrong.private_get_account())
            await refused(ccxt.AuthenticationError, unknown.private_get_account())
        finally:
            await wrong.close()
            await unknown.close()

    async def reconnect():
        ticker = await one.fetch_ticker(SYMBOL)
        price = round(ticker["bid"] * 0.95)
        for nth in range(3):
            await one.create_order(SYMBOL, "limit", "buy", 0.01, price - nth)
        before = {order["id"] for order in await one.fetch_open_orders(SYMBOL)}
        filled = len(await one.fetch_my_trades(SYMBOL))
        await one.close()
        again = client(port, "one")
        try:
            await again.load_markets()
            after = {order["id"] for order in await again.fetch_open_orders(SYMBOL)}
            assert after == before and len(after) == 3, (before, after)
            assert len(await again.fetch_my_trades(SYMBOL)) == filled
            book = await again.watch_order_book(SYMBOL)
            assert book["bids"]
            await again.cancel_all_orders(SYMBOL)
            assert await again.fetch_open_orders(SYMBOL) == []
        finally:
            await again.close()

    steps = [load_markets, time_and_status, fetch_book, fetch_tickers, fetch_trades, watch_book, watch_trades,
             watch_ticker, watch_top, watch_candles, create, edit, open_orders, cancel, partial_fill,
             market_order, my_trades, balance, watch_orders, watch_my_trades, watch_balance,
             orders_by_websocket, refusals, reconnect]
    try:
        for step in steps:
            await run.step(step.__name__, step)
    finally:
        await one.close()
        await two.close()
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]))))
