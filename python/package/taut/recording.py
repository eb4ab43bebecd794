"""Recorded market data: read as columns, mapped as it is, converted."""

from __future__ import annotations

import datetime
import os
import struct
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import _taut
from .table import Table

PathLike = str | os.PathLike[str]

#: What the numbers in the column ``kind`` of a recording stand for.
KINDS = [
    "",
    "level",
    "trade",
    "clear",
    "snapshot",
    "best",
    "",
    "",
    "",
    "",
    "add",
    "cancel",
    "modify",
    "fill",
]
#: What the numbers in the column ``seen`` stand for: who learns of a row.
SEEN = ["", "exchange", "local", "both"]

#: What formats are called by their endings.
_ENDINGS = {".npz": "npz", ".csv": "csv", ".csv.gz": "csv", ".dbn": "dbn", ".dbn.zst": "dbn"}


def read(
    files: PathLike | Sequence[PathLike],
    format: str | None = None,
    *,
    symbol: str | None = None,
    date: datetime.date | None = None,
    latency_ns: int = 0,
    best: bool = False,
) -> Table:
    """All rows of recorded files, in their order.

    ``format`` is npz, csv, lobster, dbn, binance, deribit, okx or tardis; without it the ending of
    the first name says it. ``symbol`` is the only instrument that is wanted, ``date`` the day of a
    LOBSTER file, ``latency_ns`` what its rows take to us, ``best`` whether best prices of streams
    that say nothing else are rows, too.

    Columns: exchange_ns, local_ns, instrument, kind, seen, side (1 buys, -1 sells), price (1e-9),
    quantity (``scales["quantity"]`` decimals), order_id. The arrays are the memory that decoding
    wrote into; nothing is copied.
    """
    files = _files(files)
    how = _how(files, format, symbol, date, latency_ns, best)
    columns, symbols, decimals, left_out = _taut.read_rows(files, how)
    scales = {"price": 9, "quantity": decimals}
    codes = {"kind": KINDS, "seen": SEEN, "instrument": symbols}
    return Table(columns, scales, codes, left_out)


def convert(
    files: PathLike | Sequence[PathLike],
    out: PathLike,
    format: str | None = None,
    *,
    to: str | None = None,
    symbol: str | None = None,
    date: datetime.date | None = None,
    latency_ns: int = 0,
    base_latency_ns: int = 0,
    best: bool = False,
    overwrite: bool = False,
) -> int:
    """Writes recorded files as one of another format; how many rows were written.

    ``to`` is npz, parquet, dbn, csv or csv.gz; without it the ending of ``out`` says it. What is at
    ``out`` is replaced with ``overwrite`` alone, and only by what is whole.
    """
    files, out = _files(files), Path(out)
    how = _how(files, format, symbol, date, latency_ns, best)
    to = to or "".join(out.suffixes[-2:] if out.suffix == ".gz" else [out.suffix])[1:]
    if out.exists() and not overwrite:
        raise FileExistsError(f"{out}: it is there; take another name, or overwrite=True")
    descriptor, beside = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    os.close(descriptor)
    try:
        rows: int = _taut.convert_rows(files, how, beside, to, base_latency_ns)
        # As any new file: what mkstemp makes is the owner's alone.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, 0o666 & ~mask)
        os.replace(beside, out)
    except BaseException:
        os.unlink(beside)
        raise
    return rows


def map_npz(path: PathLike, name: str = "data") -> np.ndarray:
    """An array of an npz file, mapped where it lies: nothing is read before it is looked at.

    The file must hold it unpacked, as ``numpy.savez`` writes it; taut's own files are packed.
    """
    path = Path(path)
    with zipfile.ZipFile(path) as archive:
        try:
            entry = archive.getinfo(f"{name}.npy")
        except KeyError:
            known = ", ".join(member.removesuffix(".npy") for member in archive.namelist())
            raise ValueError(f"{path}: no array {name!r} is in it; there are {known}") from None
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{path}: {name!r} is packed and cannot be mapped; use numpy.load")
    with path.open("rb") as file:
        # The local header has lengths of its own: 30 bytes, a name, an extra field.
        file.seek(entry.header_offset + 26)
        name_bytes, extra_bytes = struct.unpack("<HH", file.read(4))
        file.seek(entry.header_offset + 30 + name_bytes + extra_bytes)
        version = np.lib.format.read_magic(file)
        of_version = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in of_version:
            raise ValueError(f"{path}: {name!r} has version {version}; use numpy.load")
        shape, is_fortran, dtype = of_version[version](file)
        order = "F" if is_fortran else "C"
        return np.memmap(path, dtype, "r", file.tell(), shape, order)


def _files(files: PathLike | Sequence[PathLike]) -> list[str]:
    one = isinstance(files, str | os.PathLike)
    return [os.fspath(file) for file in ([files] if one else files)]


def _how(
    files: list[str],
    format: str | None,
    symbol: str | None,
    date: datetime.date | None,
    latency_ns: int,
    best: bool,
) -> dict[str, object]:
    if not files:
        raise ValueError("files: none is named; name one")
    if format is None:
        ending = next((it for it in sorted(_ENDINGS, reverse=True) if files[0].endswith(it)), None)
        if ending is None:
            raise ValueError(
                f"{files[0]}: its name does not say what it is; say format='npz', 'csv', "
                "'lobster', 'dbn', 'binance', 'deribit', 'okx' or 'tardis'"
            )
        format = _ENDINGS[ending]
    midnight = None
    if date is not None:
        midnight = (date - datetime.date(1970, 1, 1)).days * 86_400 * 1_000_000_000
    return {
        "format": format,
        "symbol": symbol,
        "midnight_ns": midnight,
        "latency_ns": latency_ns,
        "best": best,
    }
