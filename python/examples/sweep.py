"""Runs a strategy in Python over a grid of settings, and shows where it earns.

    taut backtest sample >bt.toml
    python sweep.py bt.toml --data btcusdt.npz --out sweep.png
"""

from __future__ import annotations

import argparse
import os

import numpy as np

import taut


class Quoter(taut.Strategy):
    """Quotes both sides some ticks from the best prices, and holds no more than so many lots."""

    events = {"top"}

    def __init__(self, ticks: int = 1, lots: int = 1, held_max: int = 10, **_: object) -> None:
        self.ticks, self.lots, self.held_max = ticks, lots, held_max
        self.quotes: dict[int, int | None] = {taut.BUY: None, taut.SELL: None}
        self.tick = 0

    def on_market(self, now: int, event: taut.Event, trading: taut.Trading) -> None:
        if event.bid is None or event.ask is None:
            return
        if not self.tick:
            _, _, self.tick, _, _ = trading.instruments()[event.instrument]
        held = trading.position(event.instrument)
        for side, best in ((taut.BUY, event.bid), (taut.SELL, event.ask)):
            if side * held < self.held_max:
                price = best - side * self.ticks * self.tick
                self.quotes[side] = trading.keep(
                    self.quotes[side], event.instrument, side, price, self.lots, post_only=True
                )
            elif (quote := self.quotes[side]) is not None:
                trading.cancel(quote)
                self.quotes[side] = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="a file of settings, as `taut backtest` has it")
    parser.add_argument("--data", nargs="+", help="recordings in the place of [data]")
    parser.add_argument("--ticks", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--entry-us", type=int, nargs="+", default=[50, 500, 5000])
    parser.add_argument("--out", help="plot to this file")
    arguments = parser.parse_args()

    overrides: dict[str, object] = {"parameters": {}}
    backtest = taut.Backtest(arguments.config)
    if arguments.data:
        symbol = backtest.settings["instruments"][0]["symbol"]
        overrides[f"data.{symbol}"] = [os.path.abspath(file) for file in arguments.data]
    backtest = backtest.but(overrides)
    points = taut.grid(
        parameters__ticks=arguments.ticks,
        latency__entry_ns=[us * 1_000 for us in arguments.entry_us],
    )
    done = taut.sweep(
        backtest, points, Quoter, progress=lambda of, all: print(f"{of} of {all}", flush=True)
    )
    for point, figures in zip(done.points, done.summaries, strict=True):
        print(
            f"{point['parameters.ticks']:>3} ticks {point['latency.entry_ns'] / 1e3:>8g} us: "
            f"profit {figures['profit']:>12.4f}, {figures['fills']:>6} fills, "
            f"drawdown {figures['drawdown_max']:.4f}"
        )

    if arguments.out:
        import matplotlib.pyplot as plt

        profits = np.array([it["profit"] for it in done.summaries])
        profits = profits.reshape(len(arguments.ticks), len(arguments.entry_us))
        figure, axes = plt.subplots(layout="constrained")
        image = axes.imshow(profits, cmap="RdYlGn", aspect="auto")
        axes.set_xticks(range(len(arguments.entry_us)), arguments.entry_us)
        axes.set_xlabel("entry latency in us")
        axes.set_yticks(range(len(arguments.ticks)), arguments.ticks)
        axes.set_ylabel("ticks from the best price")
        figure.colorbar(image, label="profit")
        figure.savefig(arguments.out, dpi=120)
        print(arguments.out)


if __name__ == "__main__":
    main()
