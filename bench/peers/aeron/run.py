"""Throughput of aeron:udp beside Aeron's C driver and a bare stream, turn by turn, on two CPUs.

    python3 run.py --taut ../../../target/release/taut --peer rust/target/release/aeron-peer

Prints one line of JSON: the messages per second of every turn, the medians, and the ratios.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess

TUNED = {
    "AERON_THREADING_MODE": "SHARED",
    "AERON_SHARED_IDLE_STRATEGY": "yield",
    "AERON_TERM_BUFFER_SPARSE_FILE": "0",
    "AERON_SOCKET_SO_SNDBUF": "2m",
    "AERON_SOCKET_SO_RCVBUF": "2m",
    "AERON_RCV_INITIAL_WINDOW_LENGTH": "2m",
    "AERON_PERFORM_STORAGE_CHECKS": "0",
}


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def last_json(text):
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def taut(arguments, mtu, loss):
    uri = (
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}|stream-id=1001|mtu={mtu}"
        "|term-length=4m|rcv-wnd=2m"
    )
    count = str(arguments.count)
    receive = [arguments.taut, "receive", "--channel", uri, "--count", count, "--wait", "spin"]
    receive += ["--cpu", "1", "--json"]
    send = [arguments.taut, "send", "--channel", uri, "--count", count, "--rate", "max"]
    send += ["--size", str(arguments.size), "--wait", "spin", "--cpu", "0", "--json"]
    if loss:
        receive += ["--inject-loss", str(loss), "--seed", "1"]
    quietly = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    receiver = subprocess.Popen(receive, **quietly)
    sent = subprocess.run(send, capture_output=True, text=True, timeout=100)
    out, _ = receiver.communicate(timeout=100)
    got = last_json(out)
    if sent.returncode or got.get("lost", 1):
        raise SystemExit(f"taut: {sent.stderr} {got}")
    return got["msgs_per_s"]


def aeron(arguments, mtu, settings):
    uri = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|mtu={mtu}"
    if settings:
        uri += "|term-length=4m|rcv-wnd=2m"
    command = [arguments.peer, "throughput", uri, "1001", str(arguments.count), str(arguments.size)]
    environment = {**os.environ, **settings}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)
    return last_json(done.stdout)["msgs_per_s"]


def bare(arguments, mtu):
    command = [arguments.peer, "bare", str(mtu), str(arguments.count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    return last_json(done.stdout)["msgs_per_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--taut", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--count", type=int, default=5_000_000)
    parser.add_argument("--size", type=int, default=70)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--mtu", type=int, nargs="+", default=[1408, 8192])
    parser.add_argument("--without-defaults", action="store_true", help="tuned Aeron alone")
    arguments = parser.parse_args()
    result = {}
    for mtu in arguments.mtu:
        kinds = {
            "taut": lambda: taut(arguments, mtu, 0),
            "aeron_tuned": lambda: aeron(arguments, mtu, TUNED),
            "bare": lambda: bare(arguments, mtu),
            "taut_1_percent_loss": lambda: taut(arguments, mtu, 0.01),
        }
        if not arguments.without_defaults:
            kinds["aeron_defaults"] = lambda: aeron(arguments, mtu, {})
        turns = {kind: [] for kind in kinds}
        for _ in range(arguments.turns):
            for kind, run in kinds.items():
                turns[kind].append(run())
        median = {kind: statistics.median(rates) for kind, rates in turns.items()}
        result[str(mtu)] = {
            "turns": turns,
            "median": median,
            "taut_to_aeron_tuned": median["taut"] / median["aeron_tuned"],
            "taut_to_bare": median["taut"] / median["bare"],
            "kept_at_1_percent_loss": median["taut_1_percent_loss"] / median["taut"],
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
