"""The order in which brokers are tried."""

from zkconsumer.cluster.broker_order import BrokerOrder
from zkconsumer.model import Broker

BOOT_A, BOOT_B = Broker(-1, "a", 1), Broker(-2, "balancer", 1)
A, C, D = Broker(1, "a", 1), Broker(2, "c", 1), Broker(3, "d", 1)


def sorted_order(failed: set[Broker]) -> BrokerOrder:
    """Build an order that sorts where the product shuffles."""
    return BrokerOrder([BOOT_A, BOOT_B], list.sort, failed.__contains__)


def test_bootstrap_servers_are_tried_before_metadata_is_known() -> None:
    """Bootstrap servers are used until metadata names at least one broker."""
    order = sorted_order(set())
    assert order.next_round() == [BOOT_B, BOOT_A]
    order.know([])
    assert order.next_round() == [BOOT_B, BOOT_A]


def test_known_brokers_are_tried_before_the_bootstrap_servers() -> None:
    """Known brokers come first; a bootstrap server at a known address is not tried twice."""
    order = sorted_order(set())
    order.know([C, A, D])
    assert order.next_round() == [A, C, D, BOOT_B]
    order.know([])
    assert order.next_round() == [A, C, D, BOOT_B]


def test_a_broker_that_failed_is_tried_after_the_others() -> None:
    """A failed broker is tried after the other known ones, but before the bootstrap servers."""
    failed = {A}
    order = sorted_order(failed)
    order.know([A, C, D])
    assert order.next_round() == [C, D, A, BOOT_B]
    failed.clear()
    assert order.next_round() == [A, C, D, BOOT_B]
