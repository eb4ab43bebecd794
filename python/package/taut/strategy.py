"""What a strategy in Python is written from."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from ._taut import Event, GatewayEvent, OrderUpdate, Trading

#: The side of orders that buy.
BUY = 1
#: The side of orders that sell.
SELL = -1


class Strategy:
    """A strategy: told what happens, it answers with orders through ``trading``.

    Methods that a class does not write itself are not called at all, and cost nothing. ``events``
    names the kinds of market events that :meth:`on_market` is told of, such as ``{"top",
    "trade"}``; None means all. ``now`` is in nanoseconds, on the recording's clock in a backtest,
    on the host's monotonic clock at a gateway. ``trading`` works only inside these calls.
    """

    events: Iterable[str] | None = None

    def on_market(self, now: int, event: Event, trading: Trading) -> None:
        """Something happened in the market."""

    def on_batch_end(self, now: int, trading: Trading) -> None:
        """All has been told that one packet changed."""

    def on_order(self, now: int, update: OrderUpdate, trading: Trading) -> None:
        """Something happened to one of its orders."""

    def on_gateway(self, now: int, event: GatewayEvent, trading: Trading) -> None:
        """Something happened to the gateway."""

    def on_alarm(self, now: int, token: int, trading: Trading) -> None:
        """The moment of an alarm has come."""

    def on_timer(self, now: int, trading: Trading) -> None:
        """Comes about every millisecond, or as ``timer_ms`` of a backtest says."""

    def on_stop(self, now: int, trading: Trading) -> None:
        """It is to come to rest; its orders are cancelled unless this is written."""


def price(value: str | int | Decimal) -> int:
    """A decimal as a whole number of 1e-9: ``price("0.1")`` is 100000000. Floats are refused."""
    if isinstance(value, float):
        raise TypeError(f"price = {value!r}: a float is not exact; write it as text")
    scaled = Decimal(value).scaleb(9)
    if scaled != scaled.to_integral_value() or abs(scaled) >= 2**63:
        raise ValueError(f"price = {value}: must be a decimal of at most 9 places, below 2^63 e-9")
    return int(scaled)
