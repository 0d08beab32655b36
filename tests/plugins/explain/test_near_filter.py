"""The filter that was probably meant: wildcards stay, and what is no slip is left alone."""

from __future__ import annotations

import pytest
from pyjs.plugins.explain.near_filter import near_filter

STORED = ["orders.eu.1", "orders.eu.11", "orders.us.8"]


@pytest.mark.parametrize(
    ("wanted", "stored", "meant"),
    [
        ("orders.EU.*", STORED, "orders.eu.*"),
        ("Orders.EU.>", STORED, "orders.eu.>"),
        ("ordres.>", STORED, "orders.>"),
        ("order.new", ["orders.new", "orders.paid"], "orders.new"),
        ("order.new", ["orders.*"], "orders.new"),
        ("orders.*", STORED, "orders.>"),
        ("orders", STORED, "orders.>"),
        ("orders.eu", STORED, "orders.eu.>"),
        ("payment.eu", ["payments.>"], "payments.eu"),
    ],
)
def test_a_slip_is_found(wanted: str, stored: list[str], meant: str) -> None:
    assert near_filter(wanted, stored) == meant


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        ("orders.eu.>", ["orders.us.0", "orders.us.1"]),  # another region is no slip
        ("orders.eu.7", STORED),  # nor is another number
        ("orders.order-12", ["orders.order-13"]),
        ("payments.>", STORED),
        ("orders.eu.1.paid", STORED),
        ("*", STORED),  # all that would match is everything
        ("orders.eu.*", []),
    ],
)
def test_what_is_no_slip_has_no_near_filter(wanted: str, stored: list[str]) -> None:
    assert near_filter(wanted, stored) == ""
