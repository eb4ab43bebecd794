"""Columns of one length: what recordings, orders, fills and batches come as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow

#: What stands in a column of whole numbers where there is nothing; as a time it is ``NaT``.
NOTHING: int = -(2**63)


class Table:
    """Named columns, NumPy arrays that nobody copied on their way here.

    ``table["price"]`` and ``table.price`` are the same array. ``scales`` says how many decimals a
    column of whole numbers has, ``codes`` what the numbers of a column stand for.
    """

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        scales: Mapping[str, int] | None = None,
        codes: Mapping[str, list[str]] | None = None,
        left_out: int = 0,
    ) -> None:
        self._columns = dict(columns)
        self.scales = dict(scales or {})
        self.codes = dict(codes or {})
        #: Rows of the files that no row of this table can say.
        self.left_out = left_out

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._columns[name]
        except KeyError:
            known = ", ".join(self._columns)
            raise KeyError(f"{name!r}: there is no such column; there are {known}") from None

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def keys(self) -> Iterator[str]:
        """The names of the columns: ``dict(table)`` has them all."""
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __len__(self) -> int:
        """How many rows."""
        return len(next(iter(self._columns.values()), ()))

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self._columns)})"

    def where(self, rows: np.ndarray | slice) -> Table:
        """Some of the rows: a slice shares the memory, a mask or places copy it."""
        columns = {name: column[rows] for name, column in self._columns.items()}
        return Table(columns, self.scales, self.codes, self.left_out)

    def float(self, name: str) -> np.ndarray:
        """A column as floats, with its decimals, NaN where there is nothing: a copy."""
        column = self[name]
        if column.dtype.kind == "f":
            return column
        values = column / 10.0 ** self.scales.get(name, 0)
        if column.dtype == np.int64:
            values[column == NOTHING] = np.nan
        return values

    def time(self, name: str) -> np.ndarray:
        """A column of nanoseconds since 1970 as ``datetime64[ns]``: the same memory."""
        return self[name].view("datetime64[ns]")

    def words(self, name: str) -> np.ndarray:
        """A column of codes as the words that they stand for: a copy."""
        return np.array(self.codes[name])[self[name]]

    def code(self, name: str, word: str) -> int:
        """The number that stands for a word in a column of codes."""
        try:
            return self.codes[name].index(word)
        except ValueError:
            known = ", ".join(known for known in self.codes[name] if known)
            raise ValueError(f"{word!r}: no {name} is called so; there are {known}") from None

    def to_arrow(self) -> pyarrow.Table:
        """The same columns for Arrow, over the same memory.

        Times become ``timestamp[ns]``, codes dictionaries. Copied are booleans and text, whose
        form is another one, and a bit for each row where a column has nothing in places.
        """
        arrow = _arrow()
        columns, fields = [], []
        for name, column in self._columns.items():
            array = _array(arrow, name, column, self.codes.get(name))
            scale = self.scales.get(name)
            metadata = None if scale is None else {"decimals": str(scale)}
            columns.append(array)
            fields.append(arrow.field(name, array.type, metadata=metadata))
        return arrow.Table.from_arrays(columns, schema=arrow.schema(fields))


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("to_arrow() needs pyarrow; install it, or taut[arrow]") from None
    return pyarrow


def _array(arrow: Any, name: str, column: np.ndarray, codes: list[str] | None) -> Any:
    if column.dtype.kind not in "iuf":
        return arrow.array(column)
    column = np.ascontiguousarray(column)
    validity = None
    if column.dtype == np.int64 and (is_nothing := column == NOTHING).any():
        validity = arrow.py_buffer(np.packbits(~is_nothing, bitorder="little"))
    of_time = name.endswith("_ns") and column.dtype == np.int64
    kind = arrow.timestamp("ns") if of_time else arrow.from_numpy_dtype(column.dtype)
    buffers = [validity, arrow.py_buffer(column)]
    array = arrow.Array.from_buffers(kind, len(column), buffers)
    if codes is None:
        return array
    return arrow.DictionaryArray.from_arrays(array, arrow.array(codes, arrow.string()))
