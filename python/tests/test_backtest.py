"""Backtests: a strategy in Python, taut's own, and both against the command."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import taut
from conftest import market_rows


class Bidder(taut.Strategy):
    """Keeps a bid of some lots at the best bid."""

    events = {"top"}

    def __init__(self, lots: int = 1, **_: object) -> None:
        self.lots = lots
        self.quote: int | None = None
        self.updates: list[taut.OrderUpdate] = []
        self.kinds: set[str] = set()

    def on_market(self, now: int, event: taut.Event, trading: taut.Trading) -> None:
        self.kinds.add(event.kind)
        if event.bid is not None:
            self.quote = trading.keep(
                self.quote, event.instrument, taut.BUY, event.bid, self.lots
            )

    def on_order(self, now: int, update: taut.OrderUpdate, trading: taut.Trading) -> None:
        self.updates.append(update)


def test_a_strategy_trades_and_hears_of_it(settings: dict) -> None:
    backtest = taut.Backtest(settings)
    bidder = Bidder(lots=2)
    outcome = backtest.run(bidder)
    assert bidder.kinds == {"top"}
    fills = [it for it in bidder.updates if it.kind == "filled"]
    assert len(outcome.fills) == len(fills) > 0
    assert list(outcome.fills.price) == [it.fill_price for it in fills]
    assert {it.kind for it in bidder.updates} >= {"accepted", "filled"}
    assert outcome.summary["end"] == "recording" and outcome.summary["fills"] == len(fills)
    assert set(outcome.fills.words("liquidity")) <= {"maker", "taker"}
    assert outcome.orders.float("quantity")[0] == pytest.approx(0.2)
    assert outcome.equity.time("at_ns").dtype == np.dtype("datetime64[ns]")
    position = outcome.equity.float("position_X")[-1]
    assert position == pytest.approx(outcome.fills.float("quantity").sum())
    assert outcome.profit == outcome.summary["profit"] == outcome.equity.equity[-1]
    # The same input gives the same output.
    again = backtest.run(Bidder, progress=lambda _: None)
    assert taut.Backtest(settings, {"parameters.lots": 2}).run(Bidder).profit == outcome.profit
    assert again.profit != outcome.profit


def test_what_trading_tells(settings: dict) -> None:
    class Looker(taut.Strategy):
        def __init__(self) -> None:
            self.seen: dict[str, object] = {}
            self.trading: taut.Trading | None = None
            self.orders: list[int] = []

        def on_timer(self, now: int, trading: taut.Trading) -> None:
            self.trading = trading
            bid, bid_lots, ask, ask_lots = trading.best(0)
            if bid is None or self.seen:
                return
            self.seen = {
                "instruments": trading.instruments(),
                "best": (bid, bid_lots, ask, ask_lots),
                "levels": trading.levels(0, taut.SELL, 5),
                "nobody": trading.levels(7, taut.SELL),
                "position": trading.position(0),
                "is_up": trading.is_order_entry_up(0),
                "alarm": trading.set_alarm(now + 10_000_000, 5),
            }
            order = trading.create(0, taut.BUY, bid - 10**9, 1, post_only=True, tag=9)
            assert order is not None
            self.orders.append(order)
            self.seen["order"] = trading.order(order)
            self.seen["orders"] = len(trading.orders())

        def on_alarm(self, now: int, token: int, trading: taut.Trading) -> None:
            self.seen["token"] = token
            assert trading.modify(self.orders[0], 98 * 10**9, 2)
            assert trading.cancel_all(0, taut.BUY)
            assert trading.create(0, taut.SELL, None, 1) is not None

    looker = Looker()
    outcome = taut.Backtest(settings).run(looker)
    assert looker.seen["instruments"] == [(0, "X", 500_000_000, 1, 1)]
    assert looker.seen["best"] == (100 * 10**9, 20, 100_500_000_000, 20)
    assert looker.seen["levels"] == [(100_500_000_000, 20)] and looker.seen["nobody"] is None
    assert looker.seen["position"] == 0 and looker.seen["is_up"] and looker.seen["alarm"]
    assert looker.seen["order"].tag == 9 and looker.seen["orders"] == 1
    assert looker.seen["token"] == 5
    assert list(outcome.orders.words("end")) == ["cancelled", "filled"]
    assert list(outcome.orders.words("type")) == ["limit", "market"]
    assert outcome.fills.words("liquidity")[0] == "taker"
    # What was lent is given back.
    with pytest.raises(taut.TautError, match="only inside a call"):
        looker.trading.cancel_all()


def test_an_exception_ends_the_run(settings: dict) -> None:
    backtest = taut.Backtest(settings)

    class Broken(taut.Strategy):
        calls = 0

        def on_market(self, now: int, event: taut.Event, trading: taut.Trading) -> None:
            Broken.calls += 1
            raise ZeroDivisionError("in the strategy")

    with pytest.raises(ZeroDivisionError, match="in the strategy"):
        backtest.run(Broken())
    assert Broken.calls == 1

    class Wrong(taut.Strategy):
        def on_timer(self, now: int, trading: taut.Trading) -> None:
            trading.create(0, 3, 10**9, 1)

    with pytest.raises(ValueError, match="side = 3"):
        backtest.run(Wrong())

    class Enough(taut.Strategy):
        def on_timer(self, now: int, trading: taut.Trading) -> None:
            raise taut.Stop

    assert len(backtest.run(Enough()).orders) == 0
    Enough.events = {"nonsense"}
    with pytest.raises(ValueError, match="must be among begin, level"):
        backtest.run(Enough())


def test_ctrl_c_ends_a_run(settings: dict) -> None:
    class Interrupted(taut.Strategy):
        def on_timer(self, now: int, trading: taut.Trading) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        taut.Backtest(settings).run(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        taut.Backtest(settings).run(progress=lambda _: signal.raise_signal(signal.SIGINT))


def test_settings_that_cannot_be_are_named(settings: dict, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="latency.*entry|entry_nss"):
        taut.Backtest(settings, {"latency.entry_nss": 3})
    with pytest.raises(ValueError, match="exchange.exponent = -1"):
        taut.Backtest(settings, {"exchange.exponent": -1.0})
    with pytest.raises(ValueError, match="is no place in a list of 1"):
        taut.Backtest(settings, {"instruments.1.tick": "1"})
    with pytest.raises(ValueError, match="has a value and no keys"):
        taut.Backtest(settings, {"sample_ms.x": 1})
    with pytest.raises(FileNotFoundError, match="check the path"):
        taut.Backtest(settings, {"data.X": ["none.npz"]}, folder=tmp_path).run()
    file = tmp_path / "bt.toml"
    file.write_text("sample_ms = 0\n")
    with pytest.raises(ValueError, match="bt.toml"):
        taut.Backtest(file)
    with pytest.raises(FileNotFoundError):
        taut.Backtest(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="parameters"):
        taut.Backtest(settings, {"parameters.rat": 1}).run()
    # As it is printed it is right, but for the recording that nobody has.
    file.write_text(taut.Backtest.sample())
    assert taut.Backtest(file).parameters["rate"] == 100


def toml(settings: dict) -> str:
    """The settings as a file."""
    lines = [f"sample_ms = {settings['sample_ms']}", "[[instruments]]"]
    lines += [f'{key} = "{value}"' for key, value in settings["instruments"][0].items()]
    for name in ("data", "latency", "parameters"):
        lines += [f"[{name}]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in settings[name].items()]
    return "\n".join(lines) + "\n"


def test_the_command_has_the_same_fills(settings: dict, tmp_path: Path, taut_binary: str) -> None:
    file, out = tmp_path / "bt.toml", tmp_path / "out"
    file.write_text(toml(settings))
    outcome = taut.Backtest(file).run()
    command = [taut_binary, "backtest", "--config", file, "--out", out, "--json"]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    for name, table in (("fills", outcome.fills), ("orders", outcome.orders)):
        with (out / f"{name}.csv").open() as lines:
            rows = list(csv.DictReader(lines))
        assert len(rows) == len(table) > 0, name
        for column in ("price", "quantity"):
            assert [float(row[column]) for row in rows] == list(table.float(column)), column
    assert [int(row["sent_ns"]) for row in rows] == list(outcome.orders.sent_ns)
    with (out / "fills.csv").open() as lines:
        fills = list(csv.DictReader(lines))
    assert [int(row["exchange_ns"]) for row in fills] == list(outcome.fills.exchange_ns)
    assert [row["liquidity"] for row in fills] == list(outcome.fills.words("liquidity"))
    report = json.loads((out / "backtest.json").read_text())
    assert report["rows"] == outcome.summary["rows"]


def test_other_threads_run_meanwhile(settings: dict) -> None:
    """taut's own strategy holds nothing that a thread of Python waits for."""
    backtest = taut.Backtest(settings)
    backtest.recordings  # noqa: B018
    outcomes: list[float] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(backtest.run().profit)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4 and len(set(outcomes)) == 1


def test_a_sweep_has_a_row_for_each_point(settings: dict) -> None:
    backtest = taut.Backtest(settings)
    points = taut.grid(latency__entry_ns=[0, 2_000_000], parameters__lots=[1, 2, 3])
    assert len(points) == 6 and points[0] == {"latency.entry_ns": 0, "parameters.lots": 1}
    told: list[tuple[int, int]] = []
    own = taut.sweep(backtest, points, workers=2, progress=lambda *it: told.append(it))
    assert told == [(done, 6) for done in range(1, 7)]
    alone = [backtest.but(point).run().summary for point in points]
    assert own.summaries == alone
    table = own.table()
    assert len(table) == 6 and list(table["parameters.lots"]) == [1, 2, 3, 1, 2, 3]
    point, figures = own.best("turnover")
    assert figures["turnover"] == table.turnover.max() and point in points
    in_python = taut.sweep(backtest, points[:3], Bidder, workers=2)
    assert in_python.summaries[1] == backtest.but(points[1]).run(Bidder).summary
    with pytest.raises(ValueError, match="give its class"):
        taut.sweep(backtest, points, Bidder())
    with pytest.raises(ValueError, match="entry_ns"):
        taut.sweep(backtest, [{"latency.entry_ns": -1}])


def test_runs_with_the_same_data_share_them(settings: dict) -> None:
    backtest = taut.Backtest(settings)
    recordings = backtest.recordings
    assert backtest.but({"latency.entry_ns": 5}).recordings is recordings
    assert recordings.rows == len(market_rows()) and recordings.span_ns[1] > recordings.span_ns[0]
    other = backtest.but({"instruments.0.tick": "0.1"})
    assert other.recordings is not recordings
