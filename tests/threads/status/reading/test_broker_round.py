"""Requests to many brokers at once, each in a thread of its own."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.no_threads import no_threads
from tests.support.scripted_cluster import ScriptedCluster
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import BrokerError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.status.reading.broker_round import BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import Unanswered

LONG_MS, SHORT_MS = 10_000, 50
B0, B1 = Broker(0, "b0", 9092), Broker(1, "b1", 9092)


@pytest.fixture
def brokers() -> Iterator[BrokerRound]:
    """Two brokers, with what sends requests to them."""
    broker_round = BrokerRound(ScriptedCluster().dialer(), SystemClock())
    yield broker_round
    broker_round.close(LONG_MS)


def deadline(limit_ms: int = LONG_MS) -> Deadline:
    """A deadline this far from now."""
    return Deadline(SystemClock(), limit_ms)


def test_all_brokers_are_requested_concurrently(brokers: BrokerRound) -> None:
    """Each response comes only once both were requested."""
    both = threading.Barrier(2, timeout=LONG_MS / 1000)

    def request(connection: NegotiatedConnection) -> int:
        both.wait()
        return connection.broker.id

    assert brokers.request({B0: request, B1: request}, deadline()) == {B0: 0, B1: 1}


def test_a_late_broker_is_not_requested_again_meanwhile(brokers: BrokerRound) -> None:
    """It is once its late response has come."""
    go_on = threading.Event()

    def hang(connection: NegotiatedConnection) -> int:
        go_on.wait(LONG_MS / 1000)
        return connection.broker.id

    def request(connection: NegotiatedConnection) -> int:
        return 10 + connection.broker.id

    late = brokers.request({B0: hang}, deadline(SHORT_MS))
    assert late == {B0: Unanswered("broker 0 (b0:9092) did not respond within 50 ms")}
    busy = brokers.request({B0: request, B1: request}, deadline())
    assert busy == {
        B0: Unanswered("broker 0 (b0:9092) has not responded to the previous request yet"),
        B1: 11,
    }
    go_on.set()
    wait_until(
        lambda: brokers.request({B0: request}, deadline()) == {B0: 10}, what="its next answer"
    )


def test_failures_are_results(brokers: BrokerRound) -> None:
    """So are bugs of ours, and they come at once."""

    def refuse(_: NegotiatedConnection) -> int:
        raise BrokerError(30, "ListGroups", "not allowed")

    def fail(_: NegotiatedConnection) -> int:
        raise ValueError("oops")

    responses = brokers.request({B0: refuse, B1: fail}, deadline())
    assert responses == {
        B0: Unanswered("broker 0 (b0:9092): not allowed"),
        B1: Unanswered("broker 1 (b1:9092): ValueError: oops"),
    }


def test_a_broker_is_requested_again_after_no_thread_could_be_started(brokers: BrokerRound) -> None:
    """The system may have no thread left at one moment, and some at the next one."""

    def request(connection: NegotiatedConnection) -> int:
        return connection.broker.id

    with no_threads():
        responses = brokers.request({B0: request}, deadline())
    reason = "broker 0 (b0:9092): RuntimeError: can't start new thread"
    assert responses == {B0: Unanswered(reason)}
    assert brokers.request({B0: request}, deadline()) == {B0: 0}


def test_after_the_close_no_request_is_sent(brokers: BrokerRound) -> None:
    """Each broker's result says so."""
    brokers.close(LONG_MS)
    [response] = brokers.request({B0: lambda connection: connection.broker.id}, deadline()).values()
    assert isinstance(response, Unanswered)
