"""Answers between threads."""

import pytest

from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.zookeeper.threads.reply import ObservedReply, Reply


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


def test_who_observes_an_answer_is_told_that_it_is_there() -> None:
    """After it was given, a value as an error: who looks then finds it, however often."""
    seen: list[bool] = []
    value: ObservedReply[int] = ObservedReply(lambda: seen.append(value.look()))
    assert not value.look()
    value.give(7)
    assert (seen, value.look(), value.error) == ([True], True, None)
    seen.clear()
    error = ConsumerClosed("shut down")
    failed: ObservedReply[int] = ObservedReply(lambda: seen.append(failed.look()))
    failed.fail(error)
    assert (seen, failed.look(), failed.error) == ([True], True, error)


def test_an_answer_that_is_an_error_of_another_kind_is_raised() -> None:
    """It is a fault of ours, and no answer."""
    failed: ObservedReply[int] = ObservedReply(lambda: None)
    failed.fail(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        failed.look()
