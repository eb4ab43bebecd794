"""What docs/python.md shows is Python, and does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_backtest import toml

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def snippets() -> list[str]:
    return [part.split("```")[0] for part in PAGE.read_text().split("```python\n")[1:]]


def test_its_snippets_run(
    settings: dict, market: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "btcusdt.npz").write_bytes(market.read_bytes())
    (tmp_path / "bt.toml").write_text(toml(settings))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for number, text in enumerate(snippets()):
        code = compile(text, f"snippet {number}", "exec")
        # Those need a gateway: tests of their own have one.
        if "Gateway(" not in text and "attach(" not in text:
            exec(code, names)
            ran += 1
    assert ran == 3 and len(names["done"]) == 6
