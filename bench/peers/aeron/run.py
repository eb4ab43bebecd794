"""aeron:udp beside Aeron's C driver and bare sockets, turn by turn, on two CPUs.

    python3 run.py --peer /tmp/aeron-target/release/aeron-peer [--taut ../../../target/release/taut]
                   [--cells throughput,loss,round-trip,pace] [--mtu 1408 8192] [--turns 3] [--java]

Prints one line of JSON: every turn, the medians, and the ratios of medians. Cells:

- throughput: messages per second of taut's two ends and of Aeron's, used alike (`aeron-peer taut`,
  `aeron-peer throughput`); of `taut send` and `taut receive`, which stamp every message; and of a
  bare stream of the same datagrams by segmentation offload.
- loss: taut's and tuned Aeron's throughput with 1% of the receiver's datagrams dropped.
- round-trip: nanoseconds of a message there and back, beside a raw UDP ping-pong.
- pace: nanoseconds one way at 1 kHz, with 1% of the datagrams dropped and without.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from common import free_port, last_json  # noqa: E402

TUNED = {
    "AERON_THREADING_MODE": "SHARED",
    "AERON_SHARED_IDLE_STRATEGY": "yield",
    "AERON_TERM_BUFFER_SPARSE_FILE": "0",
    "AERON_PRE_TOUCH_MAPPED_MEMORY": "1",
    "AERON_SOCKET_SO_SNDBUF": "2m",
    "AERON_SOCKET_SO_RCVBUF": "2m",
    "AERON_RCV_INITIAL_WINDOW_LENGTH": "2m",
    "AERON_SENDER_IO_VECTOR_CAPACITY": "16",
    "AERON_RECEIVER_IO_VECTOR_CAPACITY": "16",
    "AERON_NETWORK_PUBLICATION_MAX_MESSAGES_PER_SEND": "16",
    "AERON_PERFORM_STORAGE_CHECKS": "0",
}
# Frames of every kind, at the receiving of both sides.
LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.01|seed=1|recv-msg-mask=ff",
}
SIZE = 70
PATIENCE = 100


def uri(mtu, windows=True):
    """A channel on a port that is free."""
    text = f"aeron:udp?endpoint=127.0.0.1:{free_port(socket.SOCK_DGRAM)}|mtu={mtu}"
    return text + ("|term-length=4m|rcv-wnd=2m" if windows else "")


def peer(options, settings, *words):
    command = [options.peer, *map(str, words)]
    environment = {**os.environ, **settings}
    shared = {"capture_output": True, "text": True, "timeout": PATIENCE}
    done = subprocess.run(command, env=environment, **shared)
    return last_json(" ".join(map(str, words)), done, done.stdout, done.stderr)


def taut(options, receive, send):
    """`taut receive` on CPU 1 and `taut send` on CPU 0, both spinning: both reports."""
    common = ["--wait", "spin", "--json"]
    shared = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    receive = [options.taut, "receive", "--cpu", "1", *common, *map(str, receive)]
    send = [options.taut, "send", "--cpu", "0", "--size", str(SIZE), *common, *map(str, send)]
    receiver, sender = (subprocess.Popen(command, **shared) for command in (receive, send))
    sent = last_json("taut send", sender, *sender.communicate(timeout=PATIENCE))
    return sent, last_json("taut receive", receiver, *receiver.communicate(timeout=PATIENCE))


def tools_rate(options, mtu):
    channel = uri(mtu) + "|stream-id=1001"
    shared = ["--channel", channel, "--count", options.count]
    got = taut(options, shared, [*shared, "--rate", "max"])[1]
    if got["lost"]:
        sys.exit(f"taut lost {got['lost']} messages")
    return got["msgs_per_s"]


def throughput(options, mtu):
    """The programs of the throughput cell, by name."""
    rate = lambda settings, *words: peer(options, settings, *words)["msgs_per_s"]
    count = options.count
    programs = {
        "taut": lambda: rate({}, "taut", uri(mtu) + "|stream-id=1001", count, SIZE, 0),
        "aeron_tuned": lambda: rate(TUNED, "throughput", uri(mtu), 1001, count, SIZE),
        "bare": lambda: rate({}, "bare", mtu, 4 * count),
        "bare_written": lambda: rate({}, "written", mtu, 4 * count, SIZE),
    }
    if options.defaults:
        few = count // 4
        programs["aeron_defaults"] = lambda: rate({}, "throughput", uri(mtu, False), 1001, few, SIZE)
    if options.taut:
        programs["taut_tools"] = lambda: tools_rate(options, mtu)
    if options.java:
        programs["aeron_java"] = lambda: java(options, mtu)
    return programs


def java(options, mtu):
    """Aeron's Java driver and clients, warmed up."""
    folder = os.path.dirname(os.path.abspath(__file__))
    flags = ["-Daeron.dir=/dev/shm/aeron-peer-java", "-Dagrona.disable.bounds.checks=true"]
    for package in ("jdk.internal.misc", "sun.nio.ch"):
        flags += ["--add-opens", f"java.base/{package}=ALL-UNNAMED"]
    program = ["java", *flags, "-cp", options.java, os.path.join(folder, "java", "Peer.java")]
    words = ["throughput", uri(mtu), "1001", str(options.count), str(SIZE)]
    done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=PATIENCE)
    return last_json("java", done, done.stdout, done.stderr)["msgs_per_s"]


def loss(options, mtu):
    rate = lambda settings, *words: peer(options, settings, *words)["msgs_per_s"]
    count = options.count
    ours = lambda share: rate({}, "taut", uri(mtu) + "|stream-id=1001", count, SIZE, share)
    aeron = lambda settings: rate(settings, "throughput", uri(mtu), 1001, count // 2, SIZE)
    return {
        "taut": lambda: ours(0),
        "taut_1_percent": lambda: ours(0.01),
        "aeron_tuned_1_percent": lambda: aeron({**TUNED, **LOSS}),
    }


def taut_ping(options, mtu):
    there, back = (uri(mtu) + f"|stream-id={stream}" for stream in (1001, 1002))
    shared = ["--channel", there, "--reply-channel", back]
    pings = ["--ping", "--rate", "max", "--count", options.pings]
    return taut(options, [*shared, "--pong"], [*shared, *pings])[0]["round_trip_ns"]


def round_trip(options, mtu):
    aeron = lambda: peer(options, TUNED, "ping", uri(mtu), uri(mtu), 1001, options.pings // 5, SIZE)
    return {
        "taut": lambda: taut_ping(options, mtu),
        "udp": lambda: peer(options, {}, "udp", options.pings, SIZE),
        "aeron_tuned": aeron,
    }


def taut_pace(options, mtu, share):
    shared = ["--channel", uri(mtu) + "|stream-id=1001", "--count", options.paced]
    dropping = ["--inject-loss", share] if share else []
    got = taut(options, [*shared, *dropping], [*shared, "--rate", 1000])[1]
    if got["lost"]:
        sys.exit(f"taut lost {got['lost']} messages")
    return got["latency_ns"]


def pace(options, mtu):
    aeron = lambda settings: peer(options, settings, "pace", uri(mtu), 1001, options.paced, SIZE, 1000)
    return {
        "taut": lambda: taut_pace(options, mtu, 0),
        "taut_1_percent": lambda: taut_pace(options, mtu, 0.01),
        "aeron_tuned": lambda: aeron(TUNED),
        "aeron_tuned_1_percent": lambda: aeron({**TUNED, **LOSS}),
    }


CELLS = {"throughput": throughput, "loss": loss, "round-trip": round_trip, "pace": pace}
RATIOS = {
    "throughput": [
        ("taut", "aeron_tuned", ""),
        ("taut", "bare", ""),
        ("taut", "bare_written", ""),
        ("taut_tools", "aeron_tuned", ""),
    ],
    "loss": [("taut_1_percent", "taut", ""), ("taut_1_percent", "aeron_tuned_1_percent", "")],
    "round-trip": [("taut", "udp", "p50"), ("taut", "aeron_tuned", "p50"), ("taut", "aeron_tuned", "p99")],
    "pace": [("taut_1_percent", "aeron_tuned_1_percent", "p99"), ("taut", "aeron_tuned", "p50")],
}


def median(turns, key):
    return statistics.median(turn[key] if key else turn for turn in turns)


def summary(cell, turns):
    keys = ["p50", "p99", "p999"] if cell in ("round-trip", "pace") else [""]
    medians = {
        name: {key: median(values, key) for key in keys} if keys[0] else median(values, "")
        for name, values in turns.items()
    }
    ratios = {}
    for ours, theirs, key in RATIOS[cell]:
        if ours in turns and theirs in turns:
            ratio = median(turns[ours], key) / median(turns[theirs], key)
            ratios[f"{ours}/{theirs} {key}".strip()] = round(ratio, 3)
    return {"median": medians, "ratio": ratios, "turns": turns}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, help="rust/'s program")
    parser.add_argument("--taut", help="the tools, too")
    parser.add_argument("--java", metavar="JAR", help="aeron-all's jar: the Java driver, too")
    parser.add_argument("--defaults", action="store_true", help="Aeron with its defaults, too")
    parser.add_argument("--cells", default=",".join(CELLS), help="some of them, by commas")
    parser.add_argument("--mtu", type=int, nargs="+", default=[1408, 8192])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--count", type=int, default=5_000_000, help="messages of a throughput")
    parser.add_argument("--pings", type=int, default=50_000)
    parser.add_argument("--paced", type=int, default=5_000, help="messages at 1 kHz")
    options = parser.parse_args()
    options.cells = options.cells.split(",")
    unknown = set(options.cells) - set(CELLS)
    if unknown:
        parser.error(f"unknown cells: {', '.join(unknown)}; there are {', '.join(CELLS)}")
    if not options.taut and {"round-trip", "pace"} & set(options.cells):
        parser.error("round-trip and pace need --taut")
    return options


def main():
    options = arguments()
    result = {}
    for mtu in options.mtu:
        for cell in options.cells:
            programs = CELLS[cell](options, mtu)
            turns = {name: [] for name in programs}
            for _ in range(options.turns):
                for name, run in programs.items():
                    turns[name].append(run())
                    print(f"{cell} {mtu} {name}: {turns[name][-1]}", file=sys.stderr, flush=True)
            result[f"{cell} {mtu}"] = summary(cell, turns)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
