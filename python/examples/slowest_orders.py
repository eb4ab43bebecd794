"""Shows the slowest orders of a gateway's run, out of its order journal.

    python slowest_orders.py journal --out slowest.png
"""

from __future__ import annotations

import argparse

import numpy as np

import taut


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the folder of [journal] in the gateway's settings")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--out", help="plot all round trips to this file")
    arguments = parser.parse_args()

    orders = taut.order_times(taut.read_journal(arguments.folder))
    orders = orders.where(orders.round_trip_ns != taut.NOTHING)
    if not orders:
        parser.exit(1, f"{arguments.folder}: no order in it was answered\n")
    slowest = orders.where(np.argsort(orders.round_trip_ns)[::-1][: arguments.count])

    print(f"{'sent (UTC)':<29} {'order':>20} side {'price':>12} lots {'answer':<13} {'us':>9}")
    times, prices = slowest.time("sent_ns"), slowest.float("price")
    answers = slowest.words("answer")
    for at in range(len(slowest)):
        side = "buy" if slowest.side[at] == 1 else "sell"
        print(
            f"{times[at]} {slowest.order[at]:>20} {side:<4} {prices[at]:>12g} "
            f"{slowest.lots[at]:>4} {answers[at]:<13} {slowest.round_trip_ns[at] / 1e3:>9.1f}"
        )

    if arguments.out:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(11, 4), layout="constrained")
        axes.semilogy(orders.time("sent_ns"), orders.round_trip_ns / 1e3, ".", ms=3, c="0.6")
        axes.semilogy(slowest.time("sent_ns"), slowest.round_trip_ns / 1e3, ".", c="tab:red")
        axes.set_ylabel("round trip in us")
        figure.savefig(arguments.out, dpi=120)
        print(arguments.out)


if __name__ == "__main__":
    main()
