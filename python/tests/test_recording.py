"""Recordings: read, mapped, converted, and handed to Arrow."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

import taut
from conftest import START, market_rows


def test_columns_are_what_the_file_says(market: Path) -> None:
    table = taut.read(market, symbol="X")
    rows = market_rows()
    assert len(table) == len(rows) and table
    assert (table.exchange_ns == rows["exch_ts"]).all()
    assert (table["local_ns"] == rows["local_ts"]).all()
    assert (table.float("price") == rows["px"]).all()
    assert table.price[0] == taut.price("100")
    assert table.scales["quantity"] == 1
    assert (table.float("quantity") == rows["qty"]).all()
    assert list(table.words("kind")[:3]) == ["level", "level", "trade"]
    assert set(table.words("seen")) == {"both"}
    assert list(table.side[:3]) == [1, -1, -1]
    assert table.codes["instrument"] == ["X"]
    assert table.time("exchange_ns")[0] == np.datetime64(START, "ns")


def test_views_share_their_memory(market: Path) -> None:
    table = taut.read(market)
    assert table.price.flags.writeable and table.price.base is not None
    assert np.shares_memory(table.time("local_ns"), table.local_ns)
    assert np.shares_memory(table.where(slice(10, 20)).price, table.price)
    trades = table.where(table.kind == table.code("kind", "trade"))
    assert len(trades) == 499 and not np.shares_memory(trades.price, table.price)
    assert sorted(dict(table)) == sorted(table.keys())


def test_arrow_has_the_same_memory(market: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = taut.read(market, symbol="X")
    shown = table.to_arrow()
    for name in ("exchange_ns", "price", "quantity", "side"):
        data = shown[name].chunk(0).buffers()[1]
        assert data.address == table[name].ctypes.data, name
    assert shown.schema.field("exchange_ns").type == arrow.timestamp("ns")
    assert shown.schema.field("price").metadata == {b"decimals": b"9"}
    assert shown["kind"][2].as_py() == "trade" and shown["instrument"][0].as_py() == "X"
    assert shown.num_rows == len(table)


def test_nothing_is_null_in_arrow() -> None:
    pytest.importorskip("pyarrow")
    column = np.array([1, taut.NOTHING, 3])
    shown = taut.Table({"ended_ns": column, "is_it": np.array([True, False, True])}).to_arrow()
    assert shown["ended_ns"].null_count == 1 and shown["ended_ns"][2].value == 3
    assert shown["ended_ns"].chunk(0).buffers()[1].address == column.ctypes.data
    assert shown["is_it"].to_pylist() == [True, False, True]
    assert np.isnan(taut.Table({"x": column}).float("x")[1])


def test_a_mapped_file_is_the_file(market: Path) -> None:
    rows = taut.map_npz(market)
    assert isinstance(rows, np.memmap) and (rows == market_rows()).all()
    with pytest.raises(ValueError, match="there are data"):
        taut.map_npz(market, "other")
    packed = market.with_name("packed.npz")
    np.savez_compressed(packed, data=market_rows())
    with pytest.raises(ValueError, match="numpy.load"):
        taut.map_npz(packed)


def test_what_is_converted_is_read_again(market: Path, tmp_path: Path) -> None:
    out = tmp_path / "market.csv"
    rows = taut.convert(market, out, symbol="X")
    again = taut.read(out)
    before = taut.read(market, symbol="X")
    assert rows == len(before) == len(again)
    for name in before.keys():
        assert (before[name] == again[name]).all(), name
    with pytest.raises(FileExistsError, match="overwrite"):
        taut.convert(market, out)
    assert taut.convert(market, out, symbol="X", overwrite=True) == rows
    back = tmp_path / "back.npz"
    taut.convert(out, back)
    assert (np.load(back)["data"] == market_rows()).all()
    assert sorted(it.name for it in tmp_path.iterdir()) == ["back.npz", "market.csv", "market.npz"]


def test_parquet_is_read_by_arrow(market: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "market.parquet"
    rows = taut.convert(market, out, symbol="X")
    assert parquet.read_table(out).num_rows == rows


def test_lobster_takes_a_day(tmp_path: Path) -> None:
    file = tmp_path / "messages.csv"
    file.write_text("34200.004241176,1,16113575,18,5853300,1\n34200.1,3,16113575,18,5853300,1\n")
    table = taut.read(file, "lobster", date=datetime.date(2012, 6, 21), latency_ns=7)
    assert (table.local_ns - table.exchange_ns == 7).all()
    assert str(table.time("exchange_ns")[0]).startswith("2012-06-21T09:30:00.004")
    assert list(table.words("kind"))[0] == "add" and table.float("price")[0] == 585.33


def test_errors_name_the_thing_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="check the path"):
        taut.read(tmp_path / "none.npz")
    with pytest.raises(ValueError, match="must be one of npz, csv"):
        taut.read("x", "nonsense")
    with pytest.raises(ValueError, match="say format"):
        taut.read("x.what")
    with pytest.raises(ValueError, match="none is named"):
        taut.read([])
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"this is no archive")
    with pytest.raises(ValueError, match="broken.npz"):
        taut.read(broken)
    with pytest.raises(ValueError, match="broken.npz"):
        taut.convert(broken, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists() and len(list(tmp_path.iterdir())) == 1
    table = taut.Table({"a": np.zeros(1)})
    with pytest.raises(KeyError, match="there are a"):
        table["b"]
    with pytest.raises(AttributeError, match="there are a"):
        table.b
    with pytest.raises(TypeError, match="not exact"):
        taut.price(0.1)
