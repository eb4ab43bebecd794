"""Binance's own SDK (binance-sdk-spot) against a venue that speaks as Binance: a step, a line.

    python sdk_binance.py PORT

Prints `step: verdict` lines; exits 1 when a step fails. Nothing in the SDK is changed but its URLs; its answers are
typed, so that one of another form is an error of its own.
"""
import asyncio
import sys
import traceback

from binance_common.configuration import (ConfigurationRestAPI, ConfigurationWebSocketAPI,
                                          ConfigurationWebSocketStreams)
from binance_common.errors import BadRequestError
from binance_sdk_spot.rest_api.models import NewOrderSideEnum, NewOrderTimeInForceEnum, NewOrderTypeEnum
from binance_sdk_spot.spot import Spot
from binance_sdk_spot.websocket_api.models import (OrderCancelReplaceCancelReplaceModeEnum,
                                                   OrderCancelReplaceSideEnum, OrderCancelReplaceTimeInForceEnum,
                                                   OrderCancelReplaceTypeEnum, OrderPlaceSideEnum,
                                                   OrderPlaceTimeInForceEnum, OrderPlaceTypeEnum)

SYMBOL = "BTCUSDT"
# The example's in the venue's documents, as in the venue's sample.
PRIVATE = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u
-----END PRIVATE KEY-----
"""


def client(port, keys):
    http, ws = f"http://127.0.0.1:{port}", f"ws://127.0.0.1:{port}"
    return Spot(
        config_rest_api=ConfigurationRestAPI(base_path=http, timeout=10_000, **keys),
        config_ws_api=ConfigurationWebSocketAPI(stream_url=f"{ws}/ws-api/v3", timeout=10_000, **keys),
        config_ws_streams=ConfigurationWebSocketStreams(stream_url=ws),
    )


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


class Book:
    """A book by the venue's rules: a snapshot, and the events behind it."""

    def __init__(self, snapshot):
        self.last = int(snapshot.last_update_id)
        self.has_begun = False
        self.sides = {name: dict(map(tuple, getattr(snapshot, name))) for name in ("bids", "asks")}

    def take(self, event):
        first, last = int(event.U), int(event.u)
        if last <= self.last:
            return
        assert first == self.last + 1 if self.has_begun else first <= self.last + 1, (first, self.last)
        self.has_begun, self.last = True, last
        for name, levels in (("bids", event.b), ("asks", event.a)):
            for price, quantity in levels:
                self.sides[name].pop(price, None)
                if float(quantity) > 0:
                    self.sides[name][price] = quantity


async def main(port):
    run = Run()
    one = client(port, {"api_key": "one-ed25519", "private_key": PRIVATE})
    two = client(port, {"api_key": "two", "api_secret": "secret-of-two"})
    kept = {"events": []}

    async def in_thread(act, *arguments, **named):
        return (await asyncio.to_thread(act, *arguments, **named)).data()

    async def load_markets():
        info = await in_thread(one.rest_api.exchange_info)
        assert SYMBOL in {it.symbol for it in info.symbols}
        return f"{len(info.symbols)} symbols"

    async def market_data():
        ticker = (await in_thread(one.rest_api.ticker24hr, symbol=SYMBOL)).actual_instance
        assert float(ticker.bid_price) < float(ticker.ask_price), ticker
        assert await in_thread(one.rest_api.agg_trades, symbol=SYMBOL) is not None
        assert await in_thread(one.rest_api.klines, symbol=SYMBOL, interval="1m") is not None

    async def follow_book():
        """The book of the stream equals the one that is asked for, at the same update id."""
        connection = await one.websocket_streams.create_connection()
        events = []
        stream = await connection.diff_book_depth(symbol=SYMBOL.lower(), update_speed="100ms")
        stream.on("message", events.append)
        tickers = []
        stream = await connection.book_ticker(symbol=SYMBOL.lower())
        stream.on("message", tickers.append)
        while not events:
            await asyncio.sleep(0.01)
        book = Book(await in_thread(two.rest_api.depth, symbol=SYMBOL, limit=100))
        equal = 0
        while equal < 5:
            # Right behind an event the book is most likely still the one that it told.
            while not events:
                await asyncio.sleep(0.001)
            asking = asyncio.ensure_future(in_thread(two.rest_api.depth, symbol=SYMBOL, limit=100))
            states = {}
            asked = None
            while asked is None or book.last < int(asked.last_update_id):
                for event in events:
                    book.take(event)
                    states[book.last] = {name: dict(side) for name, side in book.sides.items()}
                events.clear()
                await asyncio.sleep(0.001)
                asked = asking.result() if asking.done() else None
            state = states.get(int(asked.last_update_id))
            if state is not None:
                assert state == {name: dict(map(tuple, getattr(asked, name))) for name in state}
                equal += 1
        while not tickers:
            await asyncio.sleep(0.01)
        assert float(tickers[-1].b) < float(tickers[-1].a), tickers[-1:]
        await connection.close_connection(close_session=True)
        return f"equal at {equal} update ids"

    async def log_on():
        api = kept["api"] = await one.websocket_api.create_connection()
        logon = (await api.session_logon()).data()
        assert logon.result.api_key == "one-ed25519", logon
        answer = await api.user_data_stream_subscribe()
        answer.stream.on("message", kept["events"].append)

    async def create():
        ticker = (await in_thread(one.rest_api.ticker24hr, symbol=SYMBOL)).actual_instance
        kept["price"] = round(float(ticker.bid_price) * 0.97)
        placed = await kept["api"].order_place(
            symbol=SYMBOL, side=OrderPlaceSideEnum["BUY"].value, type=OrderPlaceTypeEnum["LIMIT"].value,
            time_in_force=OrderPlaceTimeInForceEnum["GTC"].value, quantity=0.1, price=kept["price"])
        order = placed.data().result
        assert order.status == "NEW" and float(order.orig_qty) == 0.1, order
        kept["order"] = order

    async def edit():
        replaced = await kept["api"].order_cancel_replace(
            symbol=SYMBOL, cancel_replace_mode=OrderCancelReplaceCancelReplaceModeEnum["STOP_ON_FAILURE"].value,
            side=OrderCancelReplaceSideEnum["BUY"].value, type=OrderCancelReplaceTypeEnum["LIMIT"].value,
            time_in_force=OrderCancelReplaceTimeInForceEnum["GTC"].value, quantity=0.15, price=kept["price"] - 10,
            cancel_order_id=kept["order"].order_id)
        order = replaced.data().result.new_order_response
        assert float(order.orig_qty) == 0.15, order
        amended = await kept["api"].order_amend_keep_priority(symbol=SYMBOL, new_qty=0.12, order_id=order.order_id)
        assert float(amended.data().result.amended_order.qty) == 0.12, amended.data()
        kept["order"] = order

    async def open_orders():
        found = (await kept["api"].open_orders_status(symbol=SYMBOL)).data().result
        assert [it.order_id for it in found] == [kept["order"].order_id], found

    async def cancel():
        await kept["api"].order_cancel(symbol=SYMBOL, order_id=kept["order"].order_id)
        status = (await kept["api"].order_status(symbol=SYMBOL, order_id=kept["order"].order_id)).data().result
        assert status.status == "CANCELED", status

    async def partial_fill():
        for _ in range(40):
            ticker = (await in_thread(one.rest_api.ticker24hr, symbol=SYMBOL)).actual_instance
            price = round(float(ticker.bid_price) + 0.01, 2)
            placed = await kept["api"].order_place(
                symbol=SYMBOL, side=OrderPlaceSideEnum["BUY"].value, type=OrderPlaceTypeEnum["LIMIT"].value,
                time_in_force=OrderPlaceTimeInForceEnum["GTC"].value, quantity=5, price=price)
            await in_thread(two.rest_api.new_order, symbol=SYMBOL, side=NewOrderSideEnum["SELL"].value,
                            type=NewOrderTypeEnum["LIMIT"].value, quantity=0.01, price=price,
                            time_in_force=NewOrderTimeInForceEnum["IOC"].value)
            order_id = placed.data().result.order_id
            order = await in_thread(one.rest_api.get_order, symbol=SYMBOL, order_id=order_id)
            if order.status == "PARTIALLY_FILLED":
                return f"{order.executed_qty} of {order.orig_qty}"
            await in_thread(one.rest_api.delete_open_orders, symbol=SYMBOL)
        raise AssertionError("no partial fill")

    async def balance():
        await in_thread(one.rest_api.delete_open_orders, symbol=SYMBOL)
        account = await in_thread(one.rest_api.get_account)
        has = {it.asset: (float(it.free), float(it.locked)) for it in account.balances}
        trades = await in_thread(one.rest_api.my_trades, symbol=SYMBOL)
        bought = sum(float(it.qty) - float(it.commission) for it in trades)
        assert trades and abs(has["BTC"][0] - 100 - bought) < 1e-7 and has["USDT"][1] == 0, (has, bought)

    async def events():
        """The user data stream has told of every order and fill."""
        trades = await in_thread(one.rest_api.my_trades, symbol=SYMBOL)
        wanted = {it.id for it in trades}
        while True:
            reports = [getattr(it, "actual_instance", it) for it in kept["events"]]
            told = {it.t for it in reports if getattr(it, "x", None) == "TRADE"}
            if wanted <= told:
                break
            await asyncio.sleep(0.05)
        kinds = {getattr(it, "x", None) for it in reports}
        assert {"NEW", "CANCELED", "REPLACED", "TRADE"} <= kinds, kinds

    async def refusals():
        try:
            await in_thread(two.rest_api.new_order, symbol=SYMBOL, side=NewOrderSideEnum["BUY"].value,
                            type=NewOrderTypeEnum["LIMIT"].value, quantity=0.00001, price=50_000,
                            time_in_force=NewOrderTimeInForceEnum["GTC"].value)
        except BadRequestError as error:
            return error.error_code if hasattr(error, "error_code") else None
        raise AssertionError("no refusal")

    async def reconnect():
        placed = await kept["api"].order_place(
            symbol=SYMBOL, side=OrderPlaceSideEnum["BUY"].value, type=OrderPlaceTypeEnum["LIMIT"].value,
            time_in_force=OrderPlaceTimeInForceEnum["GTC"].value, quantity=0.1, price=kept["price"])
        await kept["api"].close_connection(close_session=True)
        again = client(port, {"api_key": "one-ed25519", "private_key": PRIVATE})
        api = await again.websocket_api.create_connection()
        await api.session_logon()
        found = (await api.open_orders_status(symbol=SYMBOL)).data().result
        assert [it.order_id for it in found] == [placed.data().result.order_id], found
        await api.open_orders_cancel_all(symbol=SYMBOL)
        assert (await api.open_orders_status(symbol=SYMBOL)).data().result == []
        await api.close_connection(close_session=True)

    steps = [load_markets, market_data, follow_book, log_on, create, edit, open_orders, cancel, partial_fill, balance,
             events, refusals, reconnect]
    for step in steps:
        await run.step(step.__name__, step)
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]))))
