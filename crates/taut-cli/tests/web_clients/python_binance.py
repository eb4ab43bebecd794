"""python-binance against a venue that speaks as Binance's spot market: a step, a line.

    python python_binance.py PORT

Prints `step: verdict` lines; exits 1 when a step fails. Nothing in it is changed but its URLs.
"""
import asyncio
import sys
import traceback

from binance import AsyncClient, BinanceSocketManager, DepthCacheManager
from binance.exceptions import BinanceAPIException

SYMBOL = "BTCUSDT"


async def client(port, account):
    AsyncClient.API_URL = f"http://127.0.0.1:{port}/api"
    AsyncClient.WS_API_URL = f"ws://127.0.0.1:{port}/ws-api/v3"
    BinanceSocketManager.STREAM_URL = f"ws://127.0.0.1:{port}/"
    return await AsyncClient.create(account, f"secret-of-{account}")


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


async def main(port):
    run = Run()
    # Pings, and asks for the time.
    one, two = await client(port, "one"), await client(port, "two")
    kept = {}

    async def bid():
        return float((await one.get_orderbook_ticker(symbol=SYMBOL))["bidPrice"])

    async def load_markets():
        info = await one.get_symbol_info(SYMBOL)
        filters = {it["filterType"]: it for it in info["filters"]}
        assert filters["PRICE_FILTER"]["tickSize"] == "0.01000000", filters

    async def market_data():
        assert (await one.get_ticker(symbol=SYMBOL))["symbol"] == SYMBOL
        assert len((await one.get_order_book(symbol=SYMBOL, limit=5))["bids"]) == 5
        await one.get_recent_trades(symbol=SYMBOL)
        await one.get_klines(symbol=SYMBOL, interval="1m")
        await one.get_avg_price(symbol=SYMBOL)

    async def follow_book():
        """The book of its depth cache equals the one that is asked for, at the same update id."""
        equal = 0
        class Cache(DepthCacheManager):
            """It applies the update that made it ask for a snapshot to that newer snapshot: its book
            is a mixture of both until it has applied what is newer than the snapshot."""

            async def _init_cache(self):
                await super()._init_cache()
                self.snapshot = self._last_update_id

        async with Cache(one, SYMBOL, limit=5000, ws_interval=100) as manager:
            asked, is_over = {}, False

            async def ask():
                while not is_over:
                    book = await two.get_order_book(symbol=SYMBOL, limit=100)
                    sides = [[(float(p), float(q)) for p, q in book[side]] for side in ("bids", "asks")]
                    asked[book["lastUpdateId"]] = sides
                    await asyncio.sleep(0.01)

            asking = asyncio.ensure_future(ask())
            seen = {}
            while len(set(asked) & set(seen)) < 5:
                cache = await manager.recv()
                if manager._last_update_id <= manager.snapshot:
                    continue
                sides = [list(map(tuple, cache.get_bids()))[:100], list(map(tuple, cache.get_asks()))[:100]]
                seen[manager._last_update_id] = sides
            is_over = True
            await asking
            for update in set(asked) & set(seen):
                assert asked[update] == seen[update], update
                equal += 1
        return f"equal at {equal} update ids"

    async def streams():
        manager = BinanceSocketManager(one)
        for socket in (manager.trade_socket(SYMBOL), manager.aggtrade_socket(SYMBOL),
                       manager.kline_socket(SYMBOL), manager.symbol_ticker_socket(SYMBOL),
                       manager.symbol_book_ticker_socket(SYMBOL), manager.depth_socket(SYMBOL, depth="5")):
            async with socket as stream:
                message = await stream.recv()
                assert message.get("s", SYMBOL) == SYMBOL and message.get("e") != "error", message

    async def create():
        price = f"{await bid() * 0.97:.2f}"
        order = await one.order_limit_buy(symbol=SYMBOL, quantity="0.1", price=price)
        assert order["status"] == "NEW", order
        kept["order"] = order

    async def edit():
        order = await one._post("order/cancelReplace", True, data={
            "symbol": SYMBOL, "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.15",
            "price": kept["order"]["price"], "cancelReplaceMode": "STOP_ON_FAILURE",
            "cancelOrderId": kept["order"]["orderId"]})
        kept["order"] = order["newOrderResponse"]
        assert kept["order"]["origQty"] == "0.15000000", order

    async def open_orders():
        found = await one.get_open_orders(symbol=SYMBOL)
        assert [it["orderId"] for it in found] == [kept["order"]["orderId"]], found
        order = await one.get_order(symbol=SYMBOL, orderId=kept["order"]["orderId"])
        assert order["status"] == "NEW", order

    async def cancel():
        order = await one.cancel_order(symbol=SYMBOL, orderId=kept["order"]["orderId"])
        assert order["status"] == "CANCELED", order

    async def partial_fill():
        async with BinanceSocketManager(one).user_socket() as stream:
            for _ in range(40):
                price = f"{await bid() + 0.01:.2f}"
                order = await one.order_limit_buy(symbol=SYMBOL, quantity="5", price=price)
                await two.create_order(symbol=SYMBOL, side="SELL", type="LIMIT", timeInForce="IOC", quantity="0.01",
                                       price=price)
                order = await one.get_order(symbol=SYMBOL, orderId=order["orderId"])
                if order["status"] == "PARTIALLY_FILLED":
                    break
                await one._delete("openOrders", True, data={"symbol": SYMBOL})
            while True:
                event = await stream.recv()
                event = event.get("event", event)
                if event["e"] == "executionReport" and event["i"] == order["orderId"] and event["x"] == "TRADE":
                    return f"{order['executedQty']} of {order['origQty']}"

    async def balance():
        await one._delete("openOrders", True, data={"symbol": SYMBOL})
        trades = await one.get_my_trades(symbol=SYMBOL)
        bought = sum(float(it["qty"]) - float(it["commission"]) for it in trades)
        has = await one.get_asset_balance("BTC")
        assert trades and abs(float(has["free"]) - 100 - bought) < 1e-7, (has, bought)
        assert float((await one.get_asset_balance("USDT"))["locked"]) == 0

    async def orders_by_websocket():
        order = await one.ws_create_order(symbol=SYMBOL, side="BUY", type="LIMIT", timeInForce="GTC",
                                          quantity="0.1", price=f"{await bid() * 0.95:.2f}")
        order = await one.ws_cancel_order(symbol=SYMBOL, orderId=order["orderId"])
        assert order["status"] == "CANCELED", order

    async def refusals():
        try:
            await one.order_limit_buy(symbol=SYMBOL, quantity="0.000001", price="60000")
        except BinanceAPIException as error:
            assert error.code == -1013, error
            return
        raise AssertionError("no refusal")

    async def reconnect():
        order = await one.order_limit_buy(symbol=SYMBOL, quantity="0.1", price=f"{await bid() * 0.96:.2f}")
        await one.close_connection()
        again = await client(port, "one")
        try:
            found = await again.get_open_orders(symbol=SYMBOL)
            assert [it["orderId"] for it in found] == [order["orderId"]], found
            await again._delete("openOrders", True, data={"symbol": SYMBOL})
            assert await again.get_open_orders(symbol=SYMBOL) == []
        finally:
            await again.close_connection()

    steps = [load_markets, market_data, follow_book, streams, create, edit, open_orders, cancel, partial_fill, balance,
             orders_by_websocket, refusals, reconnect]
    try:
        for step in steps:
            await run.step(step.__name__, step)
    finally:
        await two.close_connection()
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]))))
