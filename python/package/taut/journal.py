"""The order journal of a gateway: what left it, what the venue said, and when."""

from __future__ import annotations

import os

import numpy as np

from . import _taut
from .table import NOTHING, Table


def read_journal(folder: str | os.PathLike[str]) -> Table:
    """What a gateway's order journal says of orders, also while the gateway goes on.

    Columns: time_ns (UTC, when it was written down), kind (create, modify, cancel, acknowledged,
    replaced, filled, cancelled, expired, rejected), order, version, instrument, side, price (1e-9),
    lots. A create is written before the order leaves, an answer when it was heard.
    """
    columns, kinds = _taut.read_journal(folder)
    return Table(columns, {"price": 9}, {"kind": kinds})


def order_times(journal: Table) -> Table:
    """A row for each new order of a journal: when it left and when it was answered first.

    Columns: order, instrument, side, price, lots, sent_ns, answered_ns (NOTHING without an answer),
    answer (what it was), round_trip_ns.
    """
    kind = journal.kind
    created = np.flatnonzero(kind == journal.code("kind", "create"))
    requests = [journal.code("kind", word) for word in ("create", "modify", "cancel")]
    answers = np.flatnonzero(~np.isin(kind, requests))
    # The first answer of each order: the journal is in the order of time.
    answered, first = np.unique(journal.order[answers], return_index=True)
    first = answers[first]
    order = journal.order[created]
    at = np.searchsorted(answered, order)
    is_there = at < len(answered)
    is_there[is_there] = answered[at[is_there]] == order[is_there]
    answered_ns = np.full(len(order), NOTHING)
    answer = np.zeros(len(order), np.uint8)
    answered_ns[is_there] = journal.time_ns[first[at[is_there]]]
    answer[is_there] = kind[first[at[is_there]]] + 1
    sent_ns = journal.time_ns[created]
    round_trip = np.where(is_there, answered_ns - sent_ns, NOTHING)
    columns = {name: journal[name][created] for name in ("order", "instrument", "side")}
    columns |= {name: journal[name][created] for name in ("price", "lots")}
    columns |= {"sent_ns": sent_ns, "answered_ns": answered_ns, "answer": answer}
    columns["round_trip_ns"] = round_trip
    return Table(columns, {"price": 9}, {"answer": ["", *journal.codes["kind"]]})
