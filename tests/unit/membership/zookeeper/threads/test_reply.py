"""Answers between threads."""

import pytest

from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.zookeeper.threads.reply import Reply


def test_a_value_arrives() -> None:
    """And says that it did."""
    reply: Reply[int] = Reply()
    reply.give(7)
    assert reply.wait(0) == (7, True)


def test_none_is_an_answer_too() -> None:
    """None given is not the same as nothing given."""
    reply: Reply[None] = Reply()
    assert reply.wait(0) == (None, False)
    reply.give(None)
    assert reply.wait(0) == (None, True)


def test_an_error_is_raised_where_it_is_waited_for() -> None:
    """The very error that was given."""
    reply: Reply[int] = Reply()
    error = ConsumerClosed("shut down")
    reply.fail(error)
    with pytest.raises(ConsumerClosed) as raised:
        reply.wait(0)
    assert raised.value is error


def test_no_answer_in_time_is_said() -> None:
    """After the time-out, without an error."""
    reply: Reply[int] = Reply()
    assert reply.wait(5) == (None, False)
    assert reply.wait(-1) == (None, False)
