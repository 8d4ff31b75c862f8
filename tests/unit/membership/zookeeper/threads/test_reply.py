"""Replies between threads."""

import pytest

from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.zookeeper.threads.reply import ObservedReply, Reply


def test_a_value_is_received() -> None:
    """The second element says whether a reply arrived."""
    reply: Reply[int] = Reply()
    reply.set_result(7)
    assert reply.wait(0) == (7, True)


def test_none_is_a_reply_too() -> None:
    """A reply of None differs from no reply."""
    reply: Reply[None] = Reply()
    assert reply.wait(0) == (None, False)
    reply.set_result(None)
    assert reply.wait(0) == (None, True)


def test_an_error_is_raised_in_the_waiting_thread() -> None:
    """It is the same exception object."""
    reply: Reply[int] = Reply()
    error = ConsumerClosed("shut down")
    reply.set_error(error)
    with pytest.raises(ConsumerClosed) as raised:
        reply.wait(0)
    assert raised.value is error


def test_no_reply_in_time_is_reported() -> None:
    """After the time-out the second element is False, and nothing is raised."""
    reply: Reply[int] = Reply()
    assert reply.wait(5) == (None, False)
    assert reply.wait(-1) == (None, False)


def test_an_observer_is_called_when_the_reply_is_there() -> None:
    """The callback runs after the value or error was set, so that it can read it, repeatedly."""
    seen: list[bool] = []
    value: ObservedReply[int] = ObservedReply(lambda: seen.append(value.is_done()))
    assert not value.is_done()
    value.set_result(7)
    assert (seen, value.is_done(), value.error) == ([True], True, None)
    seen.clear()
    error = ConsumerClosed("shut down")
    failed: ObservedReply[int] = ObservedReply(lambda: seen.append(failed.is_done()))
    failed.set_error(error)
    assert (seen, failed.is_done(), failed.error) == ([True], True, error)


def test_an_unexpected_error_is_raised() -> None:
    """It is a bug of ours, and no reply."""
    failed: ObservedReply[int] = ObservedReply(lambda: None)
    failed.set_error(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        failed.is_done()
