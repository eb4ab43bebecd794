#!/usr/bin/env python3
"""Runs leased UDP beside a bare connected UDP sender and receiver, turn by turn.

usage: run.py --taut PATH [--rounds N] [--seconds S] [--rates HZ,...] [--json]

Each round runs both once at each rate; the result is the median of the rounds, and their ratio. Needs a C compiler; of
Python the standard library is all.
"""
import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import free_port, last_json  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SIZE = 70
PERCENTILES = ["p50", "p99", "p999"]


def build(folder):
    program = folder / "peers"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "peers.c"], check=True)
    return program


def bare(program, count, rate):
    command = [program, "one-way", *map(str, (count, SIZE, rate))]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100)
    return json.loads(output.stdout)


def report(process):
    return last_json("taut", process, *process.communicate(timeout=100))


def taut(program, count, rate):
    """A publisher on CPU 1 and a subscriber on CPU 0, both spinning, as the bare ends are."""
    channel = f"lease:udp?endpoint=127.0.0.1:{free_port(socket.SOCK_DGRAM)}|so-rcvbuf=1m"
    shared = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    common = ["--wait", "spin", "--json", "--channel", channel]
    receiver = subprocess.Popen([program, "receive", "--cpu", "0", *common], **shared)
    paced = ["--cpu", "1", "--size", str(SIZE), "--rate", str(rate), "--count", str(count)]
    sender = subprocess.Popen([program, "send", *paced, *common], **shared)
    report(sender)
    result = report(receiver)
    return {"received": result["received"], **{name: result["latency_ns"][name] for name in PERCENTILES}}


def at_rate(peers, program, rate, options):
    count = max(int(rate * options.seconds), 100)
    rounds = {"taut": [], "bare UDP": []}
    for _ in range(options.rounds):
        rounds["taut"].append(taut(program, count, rate))
        rounds["bare UDP"].append(bare(peers, count, rate))
    result = {"messages": count}
    for name, runs in rounds.items():
        result[name] = {key: statistics.median(run[key] for run in runs) for key in PERCENTILES}
        result[name]["lost"] = max(count - run["received"] for run in runs)
    result["p50 of every round"] = {name: [run["p50"] for run in runs] for name, runs in rounds.items()}
    result["taut / bare UDP (p50)"] = round(result["taut"]["p50"] / result["bare UDP"]["p50"], 3)
    return result


def print_table(result):
    print("| rate | p50 taut | p50 bare | ratio | p99 taut | p99 bare | lost |")
    print("|---|---|---|---|---|---|---|")
    for rate, row in result.items():
        ours, bare_ends = row["taut"], row["bare UDP"]
        times = [f"{end[key] / 1000:.2f} us" for key in ("p50", "p99") for end in (ours, bare_ends)]
        ratio = f"{row['taut / bare UDP (p50)']:.3f}"
        lost = f"{ours['lost']} and {bare_ends['lost']} of {row['messages']}"
        print(f"| {rate} | {times[0]} | {times[1]} | {ratio} | {times[2]} | {times[3]} | {lost} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taut", required=True, help="the release binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--rates", default="1000,10000,100000")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peers = build(pathlib.Path(folder))
        rates = [int(rate) for rate in options.rates.split(",")]
        result = {f"{rate} Hz": at_rate(peers, options.taut, rate, options) for rate in rates}
    if options.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
