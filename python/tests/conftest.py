"""What the tests have in common: a small market, and settings over it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

START = 1_700_000_000_000_000_000
EXCHANGE, LOCAL, BUY, SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28
LEVEL, TRADE = 1, 2
ROW = np.dtype(
    [
        ("ev", "<u8"),
        ("exch_ts", "<i8"),
        ("local_ts", "<i8"),
        ("px", "<f8"),
        ("qty", "<f8"),
        ("order_id", "<u8"),
        ("ival", "<i8"),
        ("fval", "<f8"),
    ]
)


def market_rows() -> np.ndarray:
    """Five seconds of a market around 100 that moves a tick now and then."""
    rows = []

    def add(ev: int, at: int, px: float, qty: float) -> None:
        rows.append((ev | EXCHANGE | LOCAL, at, at + 500_000, px, qty, 0, 0, 0.0))

    bid, ask = 100.0, 100.5
    add(LEVEL | BUY, START, bid, 2.0)
    add(LEVEL | SELL, START, ask, 2.0)
    for step in range(1, 500):
        at = START + step * 10_000_000
        # A trade at each side in turn, and now and then a move.
        if step % 2 == 0:
            add(TRADE | BUY, at, ask, 0.7)
        else:
            add(TRADE | SELL, at, bid, 0.7)
        if step % 20 == 0:
            up = 0.5 if step % 80 < 40 else -0.5
            add(LEVEL | BUY, at, bid, 0.0)
            add(LEVEL | SELL, at, ask, 0.0)
            bid, ask = bid + up, ask + up
            add(LEVEL | BUY, at, bid, 2.0)
            add(LEVEL | SELL, at, ask, 2.0)
    return np.array(rows, ROW)


@pytest.fixture
def market(tmp_path: Path) -> Path:
    """That market as hftbacktest's npz."""
    path = tmp_path / "market.npz"
    np.savez(path, data=market_rows())
    return path


@pytest.fixture
def settings(market: Path) -> dict:
    """Settings of a backtest over that market."""
    return {
        "sample_ms": 1000,
        "instruments": [
            {
                "symbol": "X",
                "tick": "0.5",
                "lot": "0.1",
                "currency": "USD",
                "maker_fee": "-0.0001",
                "taker_fee": "0.0005",
            }
        ],
        "data": {"X": [str(market)]},
        "latency": {"entry_ns": 1_000_000, "response_ns": 2_000_000},
        "parameters": {"rate": 50, "rest_ms": 200},
    }


@pytest.fixture(scope="session")
def taut_binary() -> str:
    """The command, for tests that hold both against each other: its path in TAUT_BINARY."""
    path = os.environ.get("TAUT_BINARY", "")
    if not path:
        print("skipped: TAUT_BINARY does not name the command `taut`")
        pytest.skip("TAUT_BINARY does not name the command `taut`")
    return path
