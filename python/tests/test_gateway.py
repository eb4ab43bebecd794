"""A gateway that runs: looked at, and traded at by a strategy in Python."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import taut
from world import World

#: Seconds after which what did not happen does not happen.
DEADLINE = 60.0


@pytest.fixture(scope="module")
def world(taut_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(taut_binary, tmp_path_factory.mktemp("world"))
    try:
        world.start_venue()
        world.start_gateway()
        yield world
    finally:
        world.close()


def until_up(gateway: taut.Gateway) -> None:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        status = gateway.status()
        if status["order_entry"] and status["books_sound"]:
            return
        time.sleep(0.05)
    raise AssertionError(f"the gateway did not come up: {status}")


def test_a_gateway_that_is_not_there_is_named() -> None:
    with pytest.raises(taut.TautError, match="does it run"):
        taut.Gateway("/nowhere/at-all")


def test_its_market_comes_in_batches(world: World) -> None:
    gateway = taut.Gateway(world.control)
    until_up(gateway)
    watch = gateway.watch()
    assert [it.symbol for it in watch.instruments] == ["ONE", "TWO"]
    assert watch.instruments[0].tick == taut.price("0.01")
    seen = {"tops": 0, "trades": 0, "levels": 0}
    for batch in watch.batches(seconds=DEADLINE):
        for name in seen:
            seen[name] += len(getattr(batch, name))
        if len(batch.tops) > 1:
            assert (batch.tops.receive_ns > 0).all() and (batch.tops.ask > batch.tops.bid).any()
            assert set(batch.tops.words("instrument")) <= {"ONE", "TWO"}
        if len(batch.trades):
            assert set(batch.trades.side) <= {-1, 0, 1} and (batch.trades.price > 0).all()
        if all(seen.values()):
            break
    assert all(seen.values()), seen
    # The gateway does not know that somebody looks.
    assert not any(it["attached"] for it in gateway.status()["strategies"])


def test_a_book_goes_on_with_the_batches(world: World) -> None:
    gateway = taut.Gateway(world.control)
    until_up(gateway)
    watch = gateway.watch()
    book = watch.book("TWO")
    assert book.is_sound and len(book.bids) > 5 and book.bids[0] < book.asks[0]
    before, changes = dict(book.levels[taut.BUY]), 0
    for batch in watch.batches(seconds=DEADLINE):
        book.apply(batch)
        changes += len(batch.levels)
        tops = batch.tops.where(batch.tops.words("instrument") == "TWO")
        if changes > 500 and len(tops):
            break
    # It ends where the ring ended: with the best prices that were told last.
    assert len(tops) and (tops.bid[-1], tops.bid_lots[-1]) == book.bids[0]
    assert (tops.ask[-1], tops.ask_lots[-1]) == book.asks[0]
    assert book.is_sound and book.levels[taut.BUY] != before
    # Another one, taken now, is the same when both have what came meanwhile.
    other = watch.book("TWO")
    assert other.position >= batch.levels.position[-1]
    batch = watch.poll(1 << 20)
    book.apply(batch)
    other.apply(batch)
    assert book.levels == other.levels
    book.apply(taut.Batch(**{**vars(batch), "lost": 1}))
    assert not book.is_sound
    with pytest.raises(taut.TautError, match="no instrument 'THREE'"):
        watch.book("THREE")


def test_a_reader_that_looks_too_seldom_counts_what_it_lost(world: World) -> None:
    gateway = taut.Gateway(world.control)
    until_up(gateway)
    watch = gateway.watch()
    before = watch.poll().lost
    assert before == 0
    deadline = time.monotonic() + DEADLINE
    other = gateway.watch()
    passed = 0
    # Another one that looks often says when the ring has gone round.
    while passed < 12_000 and time.monotonic() < deadline:
        passed += len(other.poll())
        time.sleep(0.01)
    batch = watch.poll(1 << 20)
    assert batch.lost > 0 and watch.lost == batch.lost, passed
    assert len(batch) > 0


class Quoter(taut.Strategy):
    """Bids far from the market, takes it back, and ends after some orders."""

    events = {"top"}

    def __init__(self) -> None:
        self.orders: list[int] = []
        self.kinds: list[str] = []
        self.gateway: set[str] = set()
        self.is_ready = False

    def on_gateway(self, now: int, event: taut.GatewayEvent, trading: taut.Trading) -> None:
        self.gateway.add(event.kind)
        self.is_ready |= event.kind == "ready"

    def on_market(self, now: int, event: taut.Event, trading: taut.Trading) -> None:
        if self.is_ready and event.bid is not None and len(self.orders) < 20:
            if not trading.orders():
                order = trading.create(event.instrument, taut.BUY, event.bid - 10**8, 1)
                if order is not None:
                    self.orders.append(order)

    def on_order(self, now: int, update: taut.OrderUpdate, trading: taut.Trading) -> None:
        self.kinds.append(update.kind)
        if update.kind == "accepted":
            trading.cancel(update.id)
        if update.is_done and len(self.orders) == 20:
            raise taut.Stop


def test_a_strategy_trades_at_it_and_its_journal_is_read(world: World) -> None:
    gateway = taut.Gateway(world.control)
    until_up(gateway)
    quoter, said = Quoter(), []
    attached = taut.attach(quoter, "first", world.control, heard=said.append)
    assert attached.drained and attached.attachments == 1, said
    assert attached.requests >= 40 and any("attached to" in line for line in said)
    assert quoter.gateway >= {"connected", "instrument", "ready"}
    assert quoter.kinds.count("accepted") == 20
    # Once more in this process: what ended the first run does not end the second.
    again = Quoter()
    assert taut.attach(again, "first", world.control).drained and len(again.orders) == 20
    with pytest.raises(taut.TautError, match="nobody"):
        taut.attach(Quoter(), "nobody", world.control, wait=False)
    journal = taut.read_journal(world.folder / "journal")
    times = taut.order_times(journal)
    assert sorted(times.order) == sorted(quoter.orders + again.orders)
    assert set(times.words("answer")) == {"acknowledged"} and (times.round_trip_ns > 0).all()
    stages = gateway.watch().stages()
    whole = stages["tick to trade"]
    assert whole.count >= 40 and 0 < whole.min_ns <= whole.p50_ns <= whole.max_ns
    assert whole.buckets["count"].sum() == whole.count
    assert {it["stage"] for it in gateway.stages()} == set(stages)
    assert gateway.orders() == [] and isinstance(gateway.positions(), list)


def test_an_exception_takes_its_orders_back(world: World) -> None:
    gateway = taut.Gateway(world.control)
    until_up(gateway)

    class Broken(Quoter):
        def on_order(self, now: int, update: taut.OrderUpdate, trading: taut.Trading) -> None:
            raise ZeroDivisionError("in the strategy")

    with pytest.raises(ZeroDivisionError, match="in the strategy"):
        taut.attach(Broken(), "first", world.control)
    assert gateway.orders() == []
    assert not gateway.has_ended()


def test_a_signal_ends_it_and_python_has_its_own_again(world: World) -> None:
    until_up(taut.Gateway(world.control))

    class Interrupted(Quoter):
        def on_order(self, now: int, update: taut.OrderUpdate, trading: taut.Trading) -> None:
            signal.raise_signal(signal.SIGINT)

    assert taut.attach(Interrupted(), "first", world.control).drained
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_on_paper_it_trades_and_no_order_leaves(taut_binary: str, tmp_path: Path) -> None:
    world = World(taut_binary, tmp_path)
    try:
        world.start_venue()
        world.start_gateway("--paper")
        gateway = taut.Gateway(world.control)
        until_up(gateway)
        assert gateway.status()["paper"]
        quoter = Quoter()
        assert taut.attach(quoter, "first", world.control).drained
        assert quoter.kinds.count("accepted") == len(quoter.orders) == 20
        assert gateway.orders() == [] and not (tmp_path / "journal").exists()
        watch = gateway.watch()
    finally:
        world.close()
    # What a gateway has told is there when it has ended, and that is the end.
    for batch in watch.batches(every=0.0):
        assert len(batch) or batch.lost
    assert gateway.has_ended() and len(watch.poll()) == 0
    with pytest.raises(taut.TautError, match="ended the connection"):
        gateway.status()


def test_no_such_journal(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="check the path"):
        taut.read_journal(tmp_path / "none")
    assert len(taut.read_journal(tmp_path)) == 0


def test_the_slowest_orders_are_shown(world: World) -> None:
    """After the tests above: the journal has their orders."""
    from test_examples import run

    said = run("slowest_orders.py", world.folder / "journal", "--count", "5")
    assert len(said.splitlines()) == 6 and "acknowledged" in said
