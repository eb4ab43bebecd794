"""A venue and a gateway of their own, each a process, on ports of this machine that nobody has."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

#: Below those that the system gives away.
PORTS = itertools.count(20_000)

INSTRUMENTS = "".join(
    f'[[instruments]]\nsymbol = "{symbol}"\ntick = "0.01"\n' for symbol in ("ONE", "TWO")
)


class World:
    """Processes in a folder, until it is closed."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.binary, self.folder = binary, folder
        self.processes: list[subprocess.Popen[str]] = []
        # An IP address of this process's own, whose ports nobody else binds.
        _, high, middle, low = os.getpid().to_bytes(4, "big")
        host = f"127.{64 | high & 63}.{middle}.{low}"
        names = ["orders", "incremental", "incremental_b", "snapshot", "retransmission"]
        self.lines = "".join(f'{name} = "{host}:{next(PORTS)}"\n' for name in names)

    @property
    def control(self) -> str:
        """Where the gateway listens."""
        return str(self.folder / "control")

    def start_venue(self) -> None:
        """A venue whose market moves."""
        flow = "[flow]\ncommands_per_second = 6000\nlevels = 40\n"
        settings = f'comp_id = "VENUE"\n{self.lines}{INSTRUMENTS}{flow}'
        self._start("venue", settings, "orders at")

    def start_gateway(self, *flags: str) -> None:
        """A gateway at it, with an order journal."""
        settings = (
            f'name = "own"\ncontrol = "control"\n[venue]\n{self.lines}target_comp_id = "VENUE"\n'
            f'{INSTRUMENTS}[[strategies]]\nname = "first"\nnumber = 1\n'
            '[journal]\nfolder = "journal"\nsegment_mb = 1\n'
        )
        self._start("gateway", settings, "meet it at", *flags)

    def _start(self, verb: str, settings: str, sign: str, *flags: str) -> None:
        file = self.folder / f"{verb}.toml"
        file.write_text(settings)
        process = subprocess.Popen(
            [self.binary, verb, "--config", file, *flags],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        assert process.stderr is not None
        heard = until_line(process.stderr, lambda line: sign in line)
        assert heard is not None, f"{verb} ended"

    def close(self) -> None:
        """Ends them, the last first."""
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def until_line(stream: IO[str], is_it: Callable[[str], bool]) -> str | None:
    """The first line of which this is so; None at the end."""
    return next((line for line in stream if is_it(line)), None)
