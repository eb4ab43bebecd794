"""A gateway that runs: what it says, its market in batches, a strategy at it."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _taut
from .strategy import BUY, SELL, Strategy
from .table import Table


@dataclass(frozen=True)
class Instrument:
    """An instrument of a gateway or of a backtest."""

    number: int
    symbol: str
    #: The price step, in 1e-9.
    tick: int
    #: The quantity of a lot.
    lot: float


@dataclass(frozen=True)
class Batch:
    """What a gateway's market did between two looks, in the order in which it was told.

    ``position`` in each table says where in the ring a row stood.
    """

    #: The best prices after each change: bid, bid_lots, ask, ask_lots; NOTHING where nobody is.
    tops: Table
    #: side (the aggressor's), price, lots.
    trades: Table
    #: side, price, and the total of the level in lots: 0 says that it is gone.
    levels: Table
    #: is_sound: whether the book can be trusted from there on.
    books: Table
    #: Entries of the ring that were overwritten before they were read.
    lost: int
    #: Whether more was there: the batch is as large as it may be.
    has_more: bool

    def __len__(self) -> int:
        return len(self.tops) + len(self.trades) + len(self.levels) + len(self.books)


@dataclass(frozen=True)
class Histogram:
    """How long something took, since the gateway began; nanoseconds."""

    count: int
    min_ns: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    #: up_to_ns and count of each bucket that is not empty, each within 1/256 of its values.
    buckets: Table


class Book:
    """The levels of an instrument, from a moment on: give it every batch that comes behind it.

    When ``is_sound`` is no longer True, something of it is not known: batches were lost, or the
    gateway itself does not trust its book. Then take another one (:meth:`Watch.book`).
    """

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.instrument: int = told["instrument"]
        #: Where in the ring what changes it begins.
        self.position: int = told["position"]
        self.is_sound: bool = told["is_sound"]
        #: Lots by price (1e-9), by side: BUY and SELL.
        self.levels: dict[int, dict[int, int]] = {
            BUY: dict(map(tuple, told["bids"])),
            SELL: dict(map(tuple, told["asks"])),
        }

    def apply(self, batch: Batch) -> None:
        """Takes over what a batch changes; what was told before the book began is passed by."""
        levels, books = self._own(batch.levels), self._own(batch.books)
        rows = zip(levels.side.tolist(), levels.price.tolist(), levels.lots.tolist(), strict=True)
        for side, price, lots in rows:
            if lots:
                self.levels[side][price] = lots
            else:
                self.levels[side].pop(price, None)
        # A book that becomes sound again is told anew, and not over the ring.
        self.is_sound &= not batch.lost and len(books) == 0

    def _own(self, table: Table) -> Table:
        is_own = (table.instrument == self.instrument) & (table.position >= self.position)
        return table.where(is_own)

    @property
    def bids(self) -> list[tuple[int, int]]:
        """Prices and lots, best first."""
        return sorted(self.levels[BUY].items(), reverse=True)

    @property
    def asks(self) -> list[tuple[int, int]]:
        """Prices and lots, best first."""
        return sorted(self.levels[SELL].items())

    def __repr__(self) -> str:
        bids, asks = len(self.levels[BUY]), len(self.levels[SELL])
        return f"Book({bids} bids, {asks} asks, {'sound' if self.is_sound else 'not sound'})"


class Watch:
    """Looks at a gateway's market and histograms, in memory that it maps to read.

    The gateway does nothing for it and waits for nothing of it. Who looks too seldom loses entries:
    the ring has 8,192; ``lost`` counts them.
    """

    def __init__(self, watch: _taut.Watch, connection: _taut.Connection) -> None:
        self._watch, self._connection = watch, connection
        self.instruments = _instruments(watch.instruments)
        #: Entries that were lost so far.
        self.lost = 0
        symbols = {it.number: it.symbol for it in self.instruments}
        numbers = range(max(symbols, default=-1) + 1)
        self._codes = {"instrument": [symbols.get(number, "") for number in numbers]}

    def poll(self, events_max: int = 8_192) -> Batch:
        """What came since the last look; it does not wait."""
        told, lost, has_more = self._watch.poll(events_max)
        self.lost += lost
        scales = {"price": 9, "bid": 9, "ask": 9}
        tables = {name: Table(columns, scales, self._codes) for name, columns in told.items()}
        return Batch(**tables, lost=lost, has_more=has_more)

    def batches(self, every: float = 0.02, seconds: float | None = None) -> Iterator[Batch]:
        """Batches that are not empty, one at each look; a look comes every so many seconds.

        They end with the gateway, or after ``seconds``.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            batch = self.poll()
            if len(batch) or batch.lost:
                yield batch
            elif self._connection.has_ended():
                return
            if not batch.has_more:
                time.sleep(every)

    def book(self, symbol: str) -> Book:
        """The book of an instrument as it is now; the batches that follow go on with it.

        This alone the gateway's trading thread is asked for, between two rounds of its
        housekeeping: it copies the levels.
        """
        return Book(json.loads(self._connection.book(symbol)))

    def stages(self) -> dict[str, Histogram]:
        """Where the time of a tick goes, stage by stage, then the wholes."""
        return {
            name: Histogram(**{**told, "buckets": Table(told["buckets"])})
            for name, told in self._watch.stages().items()
        }


class Gateway:
    """A gateway that runs on this machine, by its name or the path of its control socket."""

    def __init__(self, name: str = "taut") -> None:
        self.name = name
        self._connection = _taut.Connection(name)

    def status(self) -> dict[str, Any]:
        """How it is, as ``taut gateway status --json`` tells it."""
        return json.loads(self._connection.ask("status"))

    def stages(self) -> list[dict[str, Any]]:
        """Where the time of a tick goes, in figures; :meth:`Watch.stages` has the histograms."""
        return json.loads(self._connection.ask("stages"))

    def orders(self) -> list[dict[str, Any]]:
        """The open orders; prices and quantities are decimals in text."""
        return json.loads(self._connection.orders())

    def positions(self) -> list[dict[str, Any]]:
        """What is held; quantities and amounts are decimals in text."""
        return json.loads(self._connection.positions())

    def watch(self) -> Watch:
        """Looks at its market from now on."""
        return Watch(self._connection.watch(), self._connection)

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._connection.has_ended()


@dataclass(frozen=True)
class Attached:
    """How a strategy fared at its gateways."""

    #: How often it attached.
    attachments: int
    #: Whether all of its orders were answered at the end.
    drained: bool
    #: Market events that it read, and times that the ring went on without it.
    events: int
    lapped: int
    requests: int
    updates: int


def attach(
    strategy: Strategy,
    name: str,
    *gateways: str,
    wait: bool = True,
    heard: Callable[[str], object] | None = None,
) -> Attached:
    """Runs a strategy at gateways that run, as the strategy ``name`` of their settings.

    It ends with Ctrl-C, or when the strategy raises something (:class:`Stop` ends it in good
    order): then its orders are cancelled and answered. ``wait`` says whether it waits for a gateway
    that is not there, ``heard`` is told what happens. A gateway on paper (``taut gateway --paper``)
    sends no order to a venue. Only the main thread may do this: signals end it.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("attach: it ends by signals, which the main thread hears; call it there")
    names = list(gateways) or ["taut"]
    caught = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = {number: signal.getsignal(number) for number in caught}
    try:
        return Attached(**_taut.attach(names, name, strategy, Strategy, wait, heard))
    finally:
        # Python's own handlers again, which were replaced meanwhile.
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _instruments(told: list[tuple[int, str, int, int, int]]) -> list[Instrument]:
    return [
        Instrument(number, symbol, tick, mantissa / 10**decimals)
        for number, symbol, tick, mantissa, decimals in told
    ]
