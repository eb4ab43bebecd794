"""The examples run, and plot where matplotlib is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: str | Path) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, EXAMPLES / name, *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plot_day(market: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "day.png"
    said = run("plot_day.py", market, "--out", out)
    assert "499 trades" in said and out.stat().st_size > 1_000


def test_sweep(settings: dict, market: Path, tmp_path: Path) -> None:
    from test_backtest import toml

    file = tmp_path / "bt.toml"
    file.write_text(toml(settings))
    arguments = ["--data", market, "--ticks", "0", "1", "--entry-us", "50", "500"]
    has_plot = True
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        has_plot = False
    out = tmp_path / "sweep.png"
    said = run("sweep.py", file, *arguments, *(["--out", out] if has_plot else []))
    assert "4 of 4" in said and said.count("profit") == 4
    assert out.exists() == has_plot
    assert json.dumps(str(market)) in file.read_text()
