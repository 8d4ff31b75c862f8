"""Whom to ask first, and that nobody is forgotten."""

from zkconsumer.cluster.broker_order import BrokerOrder
from zkconsumer.model import Broker

BOOT_A, BOOT_B = Broker(-1, "a", 1), Broker(-2, "balancer", 1)
A, C, D = Broker(1, "a", 1), Broker(2, "c", 1), Broker(3, "d", 1)


def order(failed: set[Broker]) -> BrokerOrder:
    """Without chance."""
    return BrokerOrder([BOOT_A, BOOT_B], list.sort, failed.__contains__)


def test_the_bootstrap_before_anything_is_known() -> None:
    """Also where the cluster says that it knows nobody."""
    one = order(set())
    assert one.next_round() == [BOOT_B, BOOT_A]
    one.know([])
    assert one.next_round() == [BOOT_B, BOOT_A]


def test_live_brokers_first() -> None:
    """Then the rest of the bootstrap: an address that is known already is not asked twice."""
    one = order(set())
    one.know([C, A, D])
    assert one.next_round() == [A, C, D, BOOT_B]
    one.know([])
    assert one.next_round() == [A, C, D, BOOT_B]


def test_who_failed_comes_last() -> None:
    """Among its own."""
    failed = {A}
    one = order(failed)
    one.know([A, C, D])
    assert one.next_round() == [C, D, A, BOOT_B]
    failed.clear()
    assert one.next_round() == [A, C, D, BOOT_B]
