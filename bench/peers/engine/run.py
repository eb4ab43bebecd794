#!/usr/bin/env python3
"""Runs taut's engine and its peers on the same order flow, turn by turn.

usage: run.py FILE.bin... [--rounds N] [--taut PATH] [--only ENGINE,...]

FILE is an order flow of bookgen (see the README). Every round runs each engine once, in its own process
(A B C D A B C D); the result is the median of an engine's rounds, and taut's divided by it. The standard library
is all that it needs.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def build_rust():
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=HERE / "rust", check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"],
        cwd=HERE / "rust", check=True, capture_output=True, text=True,
    )
    return pathlib.Path(json.loads(metadata.stdout)["target_directory"]) / "release" / "engine-peers"


def build_java(target):
    if not (shutil.which("mvn") and shutil.which("javac")):
        return None
    target.mkdir(parents=True, exist_ok=True)
    classpath_file = target / "classpath"
    if not classpath_file.exists():
        subprocess.run(
            ["mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={classpath_file}"],
            cwd=HERE / "java", check=True,
        )
    classpath = f"{classpath_file.read_text().strip()}:{target}"
    source = HERE / "java" / "ExchangeCorePeer.java"
    subprocess.run(["javac", "-nowarn", "-cp", classpath, "-d", str(target), str(source)], check=True)
    return ["java", "-Xms2g", "-Xmx2g", "-XX:+UseParallelGC", "-cp", classpath, "ExchangeCorePeer"]


def engines(arguments):
    rust = build_rust()
    found = {
        "taut": [arguments.taut, "engine", "replay", "--json", "--input"],
        "orderbook-rs": [rust, "orderbook-rs"],
        "matchcore": [rust, "matchcore"],
    }
    java = build_java(rust.parents[1] / "java")
    if java:
        found["exchange-core"] = java
    else:
        print("exchange-core is left out: no javac or mvn", file=sys.stderr)
    only = arguments.only.split(",") if arguments.only else found
    return {name: command for name, command in found.items() if name in only}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--taut", default=str(ROOT / "target" / "release" / "taut"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    commands = engines(arguments)
    for file in arguments.files:
        speeds = {name: [] for name in commands}
        hashes = {}
        for number in range(arguments.rounds):
            for name, command in commands.items():
                line = subprocess.run([*map(str, command), file], check=True, capture_output=True, text=True).stdout
                result = json.loads(line.strip().splitlines()[-1])
                speeds[name].append(result["ops_per_s"])
                hashes[name] = (result["trades"], result["trade_hash"])
                print(f"{file} round {number + 1} {name} {result['ops_per_s'] / 1e6:.2f} M/s", file=sys.stderr)
        medians = {name: statistics.median(values) for name, values in speeds.items()}
        ours = medians.get("taut")
        print(f"{file}: median of {arguments.rounds} rounds")
        for name, median in medians.items():
            ratio = f", taut is {ours / median:.2f} times that" if ours and name != "taut" else ""
            agrees = "" if hashes[name] == hashes.get("taut") or name == "taut" else " (DIFFERENT trades)"
            trades, trade_hash = hashes[name]
            spread = f"{min(speeds[name]) / 1e6:.2f}..{max(speeds[name]) / 1e6:.2f}"
            print(f"  {name:14} {median / 1e6:7.2f} M op/s ({spread}), {trades} trades {trade_hash}{agrees}{ratio}")


if __name__ == "__main__":
    main()
