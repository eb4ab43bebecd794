#!/usr/bin/env python3
"""Runs taut's shared memory and its peers turn by turn, and prints ratios.

usage: run.py [--rounds N] [--seconds S] [--taut-bench PATH] [--features LIST] [--cpus A,B]
              [--capacity LINES] [--peers NAME,NAME] [--build-only | --program PATH] [--json]

A round runs everything once (A B C A B C); the result is the median of the rounds. Throughput is
given as a ratio to the floor stream, round trips to the floor's, that taut measured in its rounds.
The standard library is all that it needs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# What is run of each: name, mode, size, batch.
SLOTS = [("throughput", 56, 1), ("throughput", 56, 32), ("rtt", 56, 1)]
BYTES = [("throughput", 70, 1), ("rtt", 70, 1)]
PEERS = {
    "rtrb": SLOTS,
    "crossbeam": [run for run in SLOTS if run[2] == 1],
    "disruptor": SLOTS,
    "ringfire": SLOTS,
    "iceoryx2": [run for run in SLOTS if run[2] == 1],
    "zeromq": BYTES,
    "aeron": BYTES,
    "aeron-claim": BYTES,
} | {f"aeron{claim}-{term}": BYTES[:1] for claim in ["", "-claim"] for term in ["16m", "4m", "1m", "256k", "64k"]}
# The log three ways: copied in and out; copied in and read in place, as Aeron's offer; written and read
# in place, as Aeron's claim.
TAUT = {"taut": SLOTS + BYTES + [("throughput", 70, 16)], "taut-offer": BYTES, "taut-claim": BYTES}
IN_PLACE = {"taut": "none", "taut-offer": "reader", "taut-claim": "both"}


def build(features):
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--features", features]
    subprocess.run(command, cwd=HERE, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"],
        cwd=HERE, check=True, capture_output=True, text=True,
    )
    release = pathlib.Path(json.loads(metadata.stdout)["target_directory"]) / "release"
    # Aeron's libraries lie where its build left them.
    libraries = {str(path.parent) for path in release.glob("build/rusteron-*/out/build/lib/libaeron*.so")}
    os.environ["LD_LIBRARY_PATH"] = ":".join([*sorted(libraries), os.environ.get("LD_LIBRARY_PATH", "")])
    return release / "ipc-peers"


def last_line(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_taut(arguments, name, mode, size, batch):
    kind = "tick" if size == 56 else "log"
    report = last_line([
        arguments.taut_bench, "ipc", "--mode", mode, "--kind", kind, "--size", size, "--batch", batch,
        "--capacity", arguments.capacity, "--seconds", arguments.seconds, "--cpus", arguments.cpus, "--json",
        "--in-place", IN_PLACE[name],
    ])
    if mode == "rtt":
        return report["rtt_ns"]["p50"], report["floor_rtt_ns"]["p50"]
    return report["msgs_per_s"], report["floor_msgs_per_s"]


def run_peer(program, arguments, peer, mode, size, batch):
    report = last_line([program, peer, mode, arguments.seconds, size, batch, arguments.capacity, arguments.cpus])
    return report["rtt_ns"]["p50"] if mode == "rtt" else report["msgs_per_s"]


def rounds(arguments, program):
    peers = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.split()
    if arguments.peers:
        peers = [peer for peer in peers if peer in arguments.peers.split(",")]
    figures, floors = {}, {"throughput": [], "rtt": []}
    for number in range(arguments.rounds):
        for name, runs in TAUT.items():
            for mode, size, batch in runs:
                value, floor = run_taut(arguments, name, mode, size, batch)
                figures.setdefault((name, mode, size, batch), []).append(value)
                floors[mode].append(floor)
        for peer in peers:
            for mode, size, batch in PEERS[peer]:
                value = run_peer(program, arguments, peer, mode, size, batch)
                figures.setdefault((peer, mode, size, batch), []).append(value)
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    return figures, {mode: statistics.median(values) for mode, values in floors.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--taut-bench", default=str(ROOT / "target" / "release" / "taut-bench"))
    parser.add_argument("--features", default="aeron")
    parser.add_argument("--cpus", default="0,1")
    parser.add_argument("--capacity", type=int, default=1024)
    parser.add_argument("--peers", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--program", help="the peers, already built; else they are built first")
    arguments = parser.parse_args()
    program = arguments.program or build(arguments.features)
    if arguments.build_only:
        return
    figures, floors = rounds(arguments, program)
    rows = []
    for (peer, mode, size, batch), values in figures.items():
        value = statistics.median(values)
        rows.append({
            "peer": peer, "mode": mode, "size": size, "batch": batch, "median": value,
            "ratio_to_floor": round(value / floors[mode], 2),
        })
    if arguments.json:
        print(json.dumps({"floor_msgs_per_s": floors["throughput"], "floor_rtt_ns": floors["rtt"], "rows": rows}))
        return
    print(f"floor: {floors['throughput'] / 1e6:.1f} M msg/s, round trip {floors['rtt']:.0f} ns\n")
    print("| peer | mode | bytes | batch | median | to the floor |\n|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: (row["mode"], row["size"], row["batch"], -row["median"])):
        rtt = row["mode"] == "rtt"
        text = f"{row['median']:.0f} ns" if rtt else f"{row['median'] / 1e6:.1f} M/s"
        print(f"| {row['peer']} | {row['mode']} | {row['size']} | {row['batch']} | {text} | {row['ratio_to_floor']} |")
    log_against(rows)


def log_against(rows):
    """The log one by one against Aeron, copied, in place and the best of both, and against ZeroMQ."""
    rates = {row["peer"]: row["median"] for row in rows if (row["mode"], row["size"], row["batch"]) == ("throughput", 70, 1)}

    def best(of):
        return max((rate for peer, rate in rates.items() if of(peer)), default=None)

    def is_claim(peer):
        return peer.startswith("aeron-claim")

    def is_aeron(peer):
        return peer.startswith("aeron")

    ours = max(rate for peer, rate in rates.items() if peer.startswith("taut"))
    for what, rate, other in [
        ("copied in, beside Aeron's best offer", rates["taut-offer"], best(lambda peer: is_aeron(peer) and not is_claim(peer))),
        ("in place, beside Aeron's best claim", rates["taut-claim"], best(is_claim)),
        ("the better way, beside Aeron's best", ours, best(is_aeron)),
        ("copied in and out, beside ZeroMQ", rates["taut"], rates.get("zeromq")),
    ]:
        if other:
            print(f"the log one by one, {what}: {rate / other:.2f}")


if __name__ == "__main__":
    main()
