"""taut for Python: recordings as columns, backtests, sweeps, and gateways that run.

- :func:`read` makes columns of recorded market data, :func:`convert` writes another format;
- :func:`read_journal` and :func:`order_times` read what a gateway wrote of its orders;
- :class:`Backtest` runs a strategy over recordings, :func:`sweep` many;
- :class:`Strategy` is what a strategy in Python is written from;
- :class:`Gateway` looks at a gateway that runs, :func:`attach` runs a strategy at it.

Prices are whole numbers of 1e-9, times nanoseconds, and what is not there is :data:`NOTHING`.
"""

from ._taut import Event, GatewayEvent, OpenOrder, OrderUpdate, Stop, TautError, Trading
from .backtest import Backtest, Outcome
from .gateway import Attached, Batch, Book, Gateway, Histogram, Instrument, Watch, attach
from .journal import order_times, read_journal
from .recording import convert, map_npz, read
from .strategy import BUY, SELL, Strategy, price
from .sweep import Sweep, grid, sweep
from .table import NOTHING, Table

__all__ = [
    "BUY",
    "NOTHING",
    "SELL",
    "Attached",
    "Backtest",
    "Batch",
    "Book",
    "Event",
    "Gateway",
    "GatewayEvent",
    "Histogram",
    "Instrument",
    "OpenOrder",
    "OrderUpdate",
    "Outcome",
    "Stop",
    "Strategy",
    "Sweep",
    "Table",
    "TautError",
    "Trading",
    "Watch",
    "attach",
    "convert",
    "grid",
    "map_npz",
    "order_times",
    "price",
    "read",
    "read_journal",
    "sweep",
]
