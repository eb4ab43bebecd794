"""Backtests: a strategy over recordings, in the code of a gateway that is live."""

from __future__ import annotations

import copy
import inspect
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _taut
from .strategy import Strategy
from .table import Table

_ORDER_CODES = {
    "type": ["limit", "market"],
    "time_in_force": ["gtc", "ioc", "fok", "day"],
    "end": ["", "filled", "cancelled", "expired", "rejected"],
}
_LIQUIDITY = ["taker", "maker"]
_PRICES = ("price", "bid", "ask", "mid_at_order", "mid")
_QUANTITIES = ("quantity", "filled", "queue_ahead")


@dataclass(frozen=True)
class Outcome:
    """What a run came to: its orders, fills and equity as tables, and its figures."""

    orders: Table
    fills: Table
    equity: Table
    #: Figures by name: profit, fees, turnover, sharpe, ...
    summary: dict[str, Any]
    symbols: list[str]

    @property
    def profit(self) -> float:
        """Profit after fees, what is held valued at the middle of the market."""
        return float(self.summary["profit"])

    def __repr__(self) -> str:
        return f"Outcome({len(self.orders)} orders, {len(self.fills)} fills, {self.profit:.2f})"


class Backtest:
    """A backtest by a file of settings, as ``taut backtest`` has it, or by a dict of the same keys.

    ``overrides`` are keys over those of the file, with dots: ``{"latency.entry_ns": 1000}``. Paths
    start at the file's folder, those of a dict at ``folder``. The recordings are loaded when they
    are needed first, and shared by all runs of this object and of those that :meth:`but` makes with
    the same data and instruments.
    """

    def __init__(
        self,
        settings: str | os.PathLike[str] | Mapping[str, Any],
        overrides: Mapping[str, Any] | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if isinstance(settings, Mapping):
            self.settings: dict[str, Any] = copy.deepcopy(dict(settings))
            self._folder = Path(folder or ".").absolute()
        else:
            path = Path(settings)
            # What is wrong in the file has a line there, which a dict has not.
            if overrides is None:
                _taut.check_backtest_file(path)
            self.settings = tomllib.loads(path.read_text())
            self._folder = path.absolute().parent
        for key, value in (overrides or {}).items():
            _set(self.settings, key, value)
        _taut.check_backtest(self._json(), self._folder)
        self._recordings: _taut.Recordings | None = None

    @staticmethod
    def sample() -> str:
        """The file of settings with every key and what it means."""
        return _taut.backtest_sample()

    def but(self, overrides: Mapping[str, Any]) -> Backtest:
        """The same with other settings: ``backtest.but({"parameters.rate": 10})``."""
        other = Backtest(self.settings, overrides, folder=self._folder)
        if other._of_recordings() == self._of_recordings():
            other._recordings = self._recordings
        return other

    @property
    def recordings(self) -> _taut.Recordings:
        """The recordings in memory."""
        if self._recordings is None:
            self._recordings = _taut.load(self._json(), self._folder)
        return self._recordings

    @property
    def parameters(self) -> dict[str, Any]:
        """The strategy's own settings."""
        return dict(self.settings.get("parameters", {}))

    def run(
        self,
        strategy: Strategy | type[Strategy] | Callable[..., Strategy] | None = None,
        *,
        progress: Callable[[float], object] | None = None,
    ) -> Outcome:
        """Runs a strategy to the end of the recordings; taut's own ``touch`` where none is given.

        Of a class, or a function, the strategy is made with ``parameters`` as its arguments.
        ``progress`` is told now and then how much of the time has passed, 0 to 1. Ctrl-C ends it.
        While ``touch`` runs other threads of Python do; while a strategy in Python does they are
        let in every few milliseconds.
        """
        recordings, settings = self.recordings, self._json()
        if strategy is None:
            told = _taut.run(recordings, settings, self._folder, progress=progress)
        else:
            made = strategy
            if isinstance(strategy, type) or inspect.isroutine(strategy):
                made = strategy(**self.parameters)
            told = _taut.run(recordings, settings, self._folder, made, Strategy, progress)
        return _outcome(told)

    def _json(self) -> str:
        return json.dumps(self.settings)

    def _of_recordings(self) -> tuple[Any, ...]:
        instruments = self.settings.get("instruments", [])
        keys = ("symbol", "tick", "lot", "lot_decimals")
        steps = [[str(it.get(key)) for key in keys] for it in instruments]
        return (self.settings.get("data"), steps, self._folder)


def _set(settings: dict[str, Any], key: str, value: Any) -> None:
    """Sets a key with dots; a number is a place in a list: ``instruments.0.maker_fee``."""
    *path, last = key.split(".")
    at: Any = settings
    for name in path:
        if isinstance(at, list):
            at = at[_place(at, name, key)]
        else:
            at = at.setdefault(name, {})
        if not isinstance(at, dict | list):
            raise ValueError(f"{key}: {name} has a value and no keys; name what is in a table")
    if isinstance(at, list):
        at[_place(at, last, key)] = value
    elif value is None:
        at.pop(last, None)
    else:
        at[last] = value


def _place(items: list[Any], name: str, key: str) -> int:
    if not name.isdecimal() or int(name) >= len(items):
        raise ValueError(f"{key}: {name!r} is no place in a list of {len(items)}; count from 0")
    return int(name)


def _outcome(told: dict[str, Any]) -> Outcome:
    symbols, decimals = told["symbols"], told["quantity_decimals"]

    def table(name: str, codes: dict[str, list[str]]) -> Table:
        columns = told[name]
        scales = {column: 9 for column in columns if column in _PRICES}
        scales |= {column: 9 for column in columns if column.startswith("mid_after_")}
        scales |= {column: decimals for column in columns if column in _QUANTITIES}
        scales |= {column: decimals for column in columns if column.startswith("position_")}
        return Table(columns, scales, codes)

    return Outcome(
        orders=table("orders", {"instrument": symbols, **_ORDER_CODES}),
        fills=table("fills", {"instrument": symbols, "liquidity": _LIQUIDITY}),
        equity=table("equity", {}),
        summary=told["summary"],
        symbols=symbols,
    )
