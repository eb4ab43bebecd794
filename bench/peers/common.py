"""What the drivers of messaging peers share."""
import json
import socket
import sys


def free_port(kind=socket.SOCK_STREAM):
    """A port of 127.0.0.1 that nobody had a moment ago."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def last_json(name, process, output, errors):
    """The last line of JSON of a program that has ended; the end of this one if it failed."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        sys.exit(f"{name} ended with {process.returncode}: {errors}")
    return json.loads(lines[-1])
