"""Plots the trades and the best prices of recorded files.

    python plot_day.py btcusdt.npz --out day.png
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import taut


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--format", help="what the files are, where their names do not say it")
    parser.add_argument("--symbol", help="the only instrument that is wanted")
    parser.add_argument("--out", default="day.png")
    arguments = parser.parse_args()

    day = taut.read(arguments.files, arguments.format, symbol=arguments.symbol)
    trades = day.where(day.kind == day.code("kind", "trade"))
    if not trades:
        parser.exit(1, "no trade is in these files\n")
    print(f"{len(day):,} rows, {len(trades):,} trades")

    figure, (prices, volume) = plt.subplots(
        2, 1, sharex=True, figsize=(11, 6), height_ratios=(3, 1), layout="constrained"
    )
    for side, colour, name in ((1, "tab:green", "bought"), (-1, "tab:red", "sold")):
        these = trades.where(trades.side == side)
        prices.plot(these.time("local_ns"), these.float("price"), ".", ms=2, c=colour, label=name)
    prices.set_ylabel("price")
    prices.legend(markerscale=4)

    # What was traded in each of 300 parts of the time.
    edges = np.linspace(trades.local_ns[0], trades.local_ns[-1] + 1, 301)
    traded, _ = np.histogram(trades.local_ns, edges, weights=trades.float("quantity"))
    volume.stairs(traded, edges.astype("datetime64[ns]"), fill=True)
    volume.set_ylabel("quantity")
    figure.savefig(arguments.out, dpi=120)
    print(arguments.out)


if __name__ == "__main__":
    main()
