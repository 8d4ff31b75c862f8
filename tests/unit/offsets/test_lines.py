"""Connections of an offset channel: which are kept, and which are closed."""

from collections.abc import Iterator

import pytest

from tests.support.fake_net import CLIENT_ID, LONG_MS, FakeNet, fake_net
from zkconsumer.errors import ConnectionLost
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.offsets.coordinator import offset_dialer
from zkconsumer.offsets.lines import Lines
from zkconsumer.wire.messages.metadata import MetadataRequest

QUESTION = MetadataRequest(topics=())


@pytest.fixture
def net() -> FakeNet:
    """Two brokers."""
    return fake_net(2)


@pytest.fixture
def lines(net: FakeNet) -> Iterator[Lines]:
    """The ways to them."""
    lines = Lines(offset_dialer(CLIENT_ID, LONG_MS, connector=net.network))
    yield lines
    lines.stop()


def take(lines: Lines, net: FakeNet, number: int = 0) -> NegotiatedConnection:
    """A connection to a broker, anew or not."""
    return lines.take_or_dial(net.brokers[number].address, timeout_ms=LONG_MS)[0]


def test_one_that_was_given_back_is_taken_again(lines: Lines, net: FakeNet) -> None:
    """By the address: the broker's id is another one where a bootstrap names it."""
    first = take(lines, net)
    second = take(lines, net)
    assert first is not second
    lines.give_back(first)
    there = net.brokers[0].address
    alias = Broker(-1, there.host, there.port)
    assert lines.take_or_dial(alias, timeout_ms=LONG_MS) == (first, True)
    assert take(lines, net, 1) not in {first, second}


def test_one_that_waits_for_an_answer_is_not_kept(lines: Lines, net: FakeNet) -> None:
    """The answer would be taken for that of the next question."""
    waiting = take(lines, net)
    waiting.begin(QUESTION, timeout_ms=LONG_MS)
    lines.give_back(waiting)
    assert not waiting.is_idle
    assert take(lines, net) is not waiting


def test_one_to_the_coordinator_is_kept_and_all_others_are_closed(
    lines: Lines, net: FakeNet
) -> None:
    """Also a second one to the same broker; what is in use is left alone."""
    taken = [take(lines, net, number) for number in (0, 0, 1, 1)]
    for connection in taken[:3]:
        lines.give_back(connection)
    lines.keep(net.brokers[0].address)
    assert [connection.is_idle for connection in taken] == [True, False, False, True]
    assert take(lines, net) is taken[0]
    lines.give_back(taken[0])
    lines.keep(None)
    assert not taken[0].is_idle


def test_stopping_closes_all_and_dials_no_more(lines: Lines, net: FakeNet) -> None:
    """What is in use wakes whoever waits; what comes back is not kept."""
    used, idle = take(lines, net), take(lines, net)
    lines.give_back(idle)
    lines.stop()
    lines.stop()
    assert lines.stopped
    assert not used.is_idle
    assert not idle.is_idle
    lines.give_back(used)
    with pytest.raises(ConnectionLost, match=r"connecting was broken off"):
        take(lines, net)
