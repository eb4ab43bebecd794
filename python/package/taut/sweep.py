"""Many backtests: every combination of some settings, over all processors."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np

from .backtest import Backtest
from .strategy import Strategy
from .table import Table

Made = Strategy | type[Strategy] | Callable[..., Strategy] | None


@dataclass(frozen=True)
class Sweep:
    """What many runs came to, in the order in which they were asked for."""

    #: What each run had over the settings.
    points: list[dict[str, Any]]
    #: The figures of each run.
    summaries: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.points)

    def best(self, by: str = "profit") -> tuple[dict[str, Any], dict[str, Any]]:
        """The point with the largest figure, and its figures."""
        known = [at for at, it in enumerate(self.summaries) if it[by] is not None]
        if not known:
            raise ValueError(f"{by}: no run has it")
        at = max(known, key=lambda at: self.summaries[at][by])
        return self.points[at], self.summaries[at]

    def table(self) -> Table:
        """A row for each run: its settings, then its figures; NaN where a figure is missing."""
        columns: dict[str, np.ndarray] = {}
        for rows in (self.points, self.summaries):
            for name in dict.fromkeys(name for row in rows for name in row):
                values = [row.get(name) for row in rows]
                if all(value is None or isinstance(value, int | float) for value in values):
                    values = [np.nan if value is None else value for value in values]
                columns[name] = np.array(values)
        return Table(columns)


def grid(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of values; a double underscore stands for a dot.

    ``grid(latency__entry_ns=[0, 1000], parameters__lots=[1, 2])`` has four points.
    """
    names = [name.replace("__", ".") for name in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*axes.values())]


def sweep(
    backtest: Backtest,
    points: Sequence[Mapping[str, Any]],
    strategy: Made = None,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Sweep:
    """Runs a backtest once for each point, a dict of settings as :meth:`Backtest.but` takes it.

    taut's own strategy runs in threads over one copy of the recordings. A strategy in Python runs
    in processes: they are forked, so that they share the recordings too; it has to be a class or a
    function that makes it. ``progress`` is told how many of how many are done. The first error ends
    the sweep; so does Ctrl-C.
    """
    points = [dict(point) for point in points]
    if isinstance(strategy, Strategy):
        raise ValueError("strategy: an object would be used by many runs; give its class")
    # All of them first: a wrong one shall not be told after an hour. Their recordings are shared.
    backtest.recordings  # noqa: B018
    variants = [backtest.but(point) for point in points]
    for variant in variants:
        variant.recordings  # noqa: B018
    workers = max(1, min(workers or os.cpu_count() or 1, len(points)))
    summaries: list[dict[str, Any]] = [{} for _ in points]
    if strategy is None:
        executor: Executor = ThreadPoolExecutor(workers)
    else:
        _forked[id(points)] = (variants, strategy)
        executor = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"))
    stopped = threading.Event()

    def look(_: float) -> None:
        if stopped.is_set():
            raise InterruptedError("the sweep has ended")

    with executor:
        try:
            if strategy is None:
                asked = {
                    executor.submit(_summary, variant, None, look): at
                    for at, variant in enumerate(variants)
                }
            else:
                asked = {
                    executor.submit(_forked_summary, id(points), at): at
                    for at in range(len(points))
                }
            for done, future in enumerate(as_completed(asked), 1):
                summaries[asked[future]] = future.result()
                if progress is not None:
                    progress(done, len(points))
        except BaseException:
            stopped.set()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            _forked.pop(id(points), None)
    return Sweep(points, summaries)


#: What forked processes find in their memory: of each sweep the variants and the strategy.
_forked: dict[int, tuple[list[Backtest], Made]] = {}


def _forked_summary(sweep: int, at: int) -> dict[str, Any]:
    variants, strategy = _forked[sweep]
    return _summary(variants[at], strategy)


def _summary(
    backtest: Backtest, strategy: Made, look: Callable[[float], object] | None = None
) -> dict[str, Any]:
    return backtest.run(strategy, progress=look).summary
