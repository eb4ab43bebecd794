"""NewOrderSingle to ExecutionReport and back over loopback TCP: taut and other FIX engines, turn by turn.

    python3 run.py --taut-bench ../../../target/release/taut-bench [--dictionary FIX44.xml] [--rounds 5]

Both sides of an engine are one process, with a store in memory, validation on, without Nagle's delay, one
order at a time. Prints a table, and one line of JSON: the median of the rounds, nanoseconds. What
install.sh did not build is left out and named.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "target")
SHARED = os.path.join(HERE, "../../../../shared/fix/dictionaries/FIX44.xml")


def engines(arguments):
    """Name, what must be there, command."""
    trips = str(arguments.round_trips)
    java = f"{TARGET}/java:{TARGET}/java/lib/*"
    taut = [arguments.taut_bench, "fix", "--json", "--round-trips", trips]
    go, rust = os.path.join(TARGET, "fix-peer-go"), os.path.join(TARGET, "fix-peer-rust")
    own = os.path.join(TARGET, "java/Peer.class")
    return [
        ("taut", arguments.taut_bench, taut),
        ("quickfixgo v0.9.7", go, [go, "bench", trips, arguments.dictionary]),
        ("quickfix-tokio 0.2.0", rust, [rust, "bench", trips, arguments.dictionary]),
        ("QuickFIX/J 2.3.2", own, ["java", "-cp", java, "Peer", "bench", trips, "FIX44.xml"]),
    ]


def measure(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SystemExit(f"{command[0]}: {done.stderr[-2000:]}")
    return json.loads(lines[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--taut-bench", required=True)
    parser.add_argument("--dictionary", default=SHARED, help="FIX44.xml for the peers that need one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-trips", type=int, default=20_000)
    arguments = parser.parse_args()
    present = [engine for engine in engines(arguments) if os.path.exists(engine[1])]
    for name, path, _ in engines(arguments):
        if not os.path.exists(path):
            print(f"left out: {name} ({path} is not there)", file=sys.stderr)
    rounds = {name: [] for name, _, _ in present}
    for _ in range(arguments.rounds):
        for name, _, command in present:
            rounds[name].append(measure(command))
    result = {}
    for name, all_of_it in rounds.items():
        median = lambda field: statistics.median(one["rtt_ns"][field] for one in all_of_it)
        result[name] = {field: median(field) for field in ("p50", "p99")}
    bare = statistics.median(one["bare_rtt_ns"]["p50"] for one in rounds["taut"])
    peers = [it["p50"] for name, it in result.items() if name != "taut"]
    print(f"{'engine':24}{'p50 us':>10}{'p99 us':>10}", file=sys.stderr)
    for name, it in result.items():
        print(f"{name:24}{it['p50'] / 1000:10.1f}{it['p99'] / 1000:10.1f}", file=sys.stderr)
    ours = result["taut"]["p50"]
    told = {"rounds": arguments.rounds, "round_trips": arguments.round_trips, "rtt_ns": result}
    told |= {"bare_rtt_ns_p50": bare, "taut_to_bare": ours / bare}
    if peers:
        told["taut_to_best_peer"] = ours / min(peers)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
