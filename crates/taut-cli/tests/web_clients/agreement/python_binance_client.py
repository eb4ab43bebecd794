"""python-binance in one book with others: python python_binance_client.py binance PORT ACCOUNT SEED."""
import asyncio
import contextlib
import logging
import sys

import aiohttp
from binance import AsyncClient, BinanceSocketManager, DepthCacheManager
from binance.exceptions import BinanceAPIException, BinanceRequestException

from agreement import Refused, Trader, Unknown, number, say

SYMBOL = "BTCUSDT"


@contextlib.contextmanager
def outcomes():
    try:
        yield
    except BinanceAPIException as error:
        raise (Unknown if error.status_code >= 500 else Refused) from error
    except (aiohttp.ClientError, BinanceRequestException, OSError) as error:
        raise Unknown from error


class Cache(DepthCacheManager):
    """Its depth cache. It applies the update that made it ask for a snapshot to that newer snapshot: until it has
    applied what came meanwhile its book is a mixture of both."""

    snapshot = -1

    async def _init_cache(self):
        await super()._init_cache()
        self.snapshot = self._last_update_id

    async def recv(self):
        """Its own one catches what says that its socket gave up (ReadLoopClosed: after five attempts to connect, or
        when a hundred messages wait), and asks that socket again and again without a pause and without an end (recv in
        binance/ws/depthcache.py of 1.0.37). Its user wants to hear of it."""
        cache = None
        while not cache:
            cache = await self._depth_event(await self._socket.recv())
        return cache


class PythonBinance(Trader):
    tick, digits, sizes = 0.01, 2, (0.001, 0.004, 0.02)

    def __init__(self, port, account, seed):
        super().__init__(account, seed)
        AsyncClient.API_URL = f"http://127.0.0.1:{port}/api"
        BinanceSocketManager.STREAM_URL = f"ws://127.0.0.1:{port}/"
        self.account_name = account
        self.client = self.cache = self.following = None

    async def begin(self):
        self.client = await AsyncClient.create(self.account_name, f"secret-of-{self.account_name}")
        self.following = asyncio.ensure_future(self.follow())

    async def follow(self):
        """A snapshot that cannot be read leaves its cache waiting for ever: its user begins a new one."""
        while True:
            try:
                async with Cache(self.client, SYMBOL, limit=1000, ws_interval=100) as cache:
                    self.cache, snapshot = cache, cache.snapshot
                    while True:
                        await asyncio.wait_for(cache.recv(), self.silence())
                        self.books += 1
                        self.rereads += cache.snapshot != snapshot
                        snapshot = cache.snapshot
            except asyncio.CancelledError:
                raise
            except Exception as error:  # of many kinds
                say(f"note its depth cache ended with {type(error).__name__}: its user began a new one")
                self.cache = None
                await asyncio.sleep(0.1)

    def book(self):
        cache = self.cache and self.cache.get_depth_cache()
        at = self.cache._last_update_id if cache else None
        if at is None or at < self.cache.snapshot:
            return -1, [], []
        return at, cache.get_bids(), cache.get_asks()

    async def read_again(self):
        self.following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.following
        self.cache = None
        self.following = asyncio.ensure_future(self.follow())
        await self.top()

    async def end(self):
        self.following.cancel()
        await self.client.close_connection()

    async def place(self, name, side, price, amount):
        with outcomes():
            order = await self.client.create_order(
                symbol=SYMBOL, side=side.upper(), type="LIMIT", timeInForce="GTC", quantity=f"{amount:.5f}",
                price=f"{price:.2f}", newClientOrderId=name)
            is_open = order["status"] in ("NEW", "PARTIALLY_FILLED")
            return (name, (order["orderId"], side)) if is_open else None

    async def cancel(self, _name, order):
        with outcomes():
            await self.client.cancel_order(symbol=SYMBOL, orderId=order)

    async def change(self, _name, order, again, side, price, amount):
        with outcomes():
            answer = await self.client._post("order/cancelReplace", True, data={
                "symbol": SYMBOL, "side": side.upper(), "type": "LIMIT", "timeInForce": "GTC",
                "quantity": f"{amount:.5f}", "price": f"{price:.2f}", "cancelReplaceMode": "STOP_ON_FAILURE",
                "cancelOrderId": order, "newClientOrderId": again})
            order = answer["newOrderResponse"]
            is_open = order["status"] in ("NEW", "PARTIALLY_FILLED")
            return (again, (order["orderId"], side)) if is_open else None

    async def find(self, name):
        with outcomes():
            try:
                order = await self.client.get_order(symbol=SYMBOL, origClientOrderId=name)
            except BinanceAPIException as error:
                if error.code == -2013:
                    return None
                raise
            return order["orderId"], order["side"].lower(), order["status"] in ("NEW", "PARTIALLY_FILLED")

    async def orders(self):
        with outcomes():
            return [[it["clientOrderId"], it["side"].lower(), number(it["price"]), number(it["origQty"]),
                     number(it["executedQty"])] for it in await self.client.get_open_orders(symbol=SYMBOL)]

    async def account(self):
        with outcomes():
            told = {it["asset"]: it for it in (await self.client.get_account())["balances"]}
            both = {coin: (float(told[coin]["free"]), float(told[coin]["locked"])) for coin in ("BTC", "USDT")}
            return {"balances": {coin: [number(free + locked), number(free)] for coin, (free, locked) in both.items()}}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    _, _, *rest = sys.argv
    asyncio.run(PythonBinance(*rest).run())
