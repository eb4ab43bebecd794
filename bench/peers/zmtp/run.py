#!/usr/bin/env python3
"""Runs taut's ZeroMQ wire beside libzmq and bare TCP sockets, turn by turn.

usage: run.py --taut PATH [--rounds N] [--count N] [--only throughput,round-trip,one-way] [--json]

Each round runs everybody once; the result is the median of the rounds, and ratios of medians. Needs a C compiler and
libzmq3-dev; the standard library is all that it needs of Python.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import free_port, last_json  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SIZE = 70


def build(folder):
    program = folder / "peers"
    source = HERE / "peers.c"
    command = ["cc", "-O2", "-w", "-o", program, source, "-lzmq"]
    subprocess.run(command, check=True)
    return program


def peer(program, mode, *arguments):
    command = [program, mode, *map(str, arguments)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100)
    return json.loads(output.stdout)


def report(process):
    return last_json("taut", process, *process.communicate(timeout=100))


def taut(program, send, receive=()):
    """A publisher on CPU 1 and a subscriber on CPU 0, both spinning; both reports."""
    at = f"tcp://127.0.0.1:{free_port()}"
    shared = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    common = ["--wait", "spin", "--json", "--channel"]
    receiver = subprocess.Popen([program, "receive", "--cpu", "0", *receive, *common, at], **shared)
    size = ["--size", str(SIZE)]
    channel = f"{at}?on-full=block"
    sender = subprocess.Popen([program, "send", "--cpu", "1", *size, *send, *common, channel], **shared)
    return report(sender), report(receiver)


def taut_round_trip(program, count):
    there, back = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
    shared = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    common = ["--wait", "spin", "--json", "--channel", there, "--reply-channel", back]
    receiver = subprocess.Popen([program, "receive", "--cpu", "0", "--pong", *common], **shared)
    pings = ["--ping", "--rate", "max", "--count", str(count), "--size", str(SIZE)]
    sender = subprocess.Popen([program, "send", "--cpu", "1", *pings, *common], **shared)
    result = report(sender)
    receiver.communicate(timeout=30)
    return result["round_trip_ns"]


def median(rounds, key):
    return statistics.median(one[key] for one in rounds)


def throughput(peers, program, options):
    ours, zmq, bare, messages = [], [], [], []
    for _ in range(options.rounds):
        send, receive = taut(program, ["--rate", "max", "--count", str(options.count)])
        if receive["lost"] or receive["received"] != options.count:
            sys.exit(f"not lossless: {receive}")
        ours.append(receive)
        zmq.append(peer(peers, "zmq-throughput", options.count // 4, SIZE))
        bare.append(peer(peers, "tcp-throughput", options.count, SIZE))
        messages.append(peer(peers, "tcp-messages", options.count, SIZE))
    names = {"taut": ours, "libzmq": zmq, "bare TCP": bare, "bare TCP, messages": messages}
    rates = {name: median(rounds, "msgs_per_s") for name, rounds in names.items()}
    return {
        "msgs_per_s": rates,
        "taut / libzmq": rates["taut"] / rates["libzmq"],
        "taut / bare TCP": rates["taut"] / rates["bare TCP"],
        "taut / bare TCP, messages": rates["taut"] / rates["bare TCP, messages"],
    }


def round_trip(peers, program, options):
    count = min(options.count, 100_000)
    ours, zmq, bare = [], [], []
    for _ in range(options.rounds):
        ours.append(taut_round_trip(program, count))
        zmq.append(peer(peers, "zmq-round-trip", count // 10, SIZE))
        bare.append(peer(peers, "tcp-round-trip", count, SIZE))
    names = {"taut": ours, "libzmq": zmq, "bare TCP": bare}
    p50 = {name: median(rounds, "p50") for name, rounds in names.items()}
    p99 = {name: median(rounds, "p99") for name, rounds in names.items()}
    return {"p50_ns": p50, "p99_ns": p99, "taut / bare TCP (p50)": p50["taut"] / p50["bare TCP"]}


def one_way(peers, program, options):
    result = {}
    for rate in (1_000, 100_000):
        ours, bare = [], []
        count = rate * 2
        for _ in range(options.rounds):
            _, receive = taut(program, ["--rate", str(rate), "--count", str(count)])
            ours.append(receive["latency_ns"])
            bare.append(peer(peers, "tcp-one-way", count, SIZE, rate))
        p50 = {"taut": median(ours, "p50"), "bare TCP": median(bare, "p50")}
        ratio = p50["taut"] / p50["bare TCP"]
        result[f"{rate} Hz"] = {"p50_ns": p50, "taut / bare TCP (p50)": ratio}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taut", required=True, help="the release binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=20_000_000)
    parser.add_argument("--only", default="throughput,round-trip,one-way")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runs = {"throughput": throughput, "round-trip": round_trip, "one-way": one_way}
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        peers = build(pathlib.Path(folder))
        for name in options.only.split(","):
            result[name] = runs[name](peers, options.taut, options)
            if not options.json:
                print(name, json.dumps(result[name], indent=2))
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
