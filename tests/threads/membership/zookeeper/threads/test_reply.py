"""Answers between threads: on real threads."""

from zkconsumer.membership.zookeeper.threads.reply import Reply
from zkconsumer.scope import ThreadScope


def test_a_waiting_thread_gets_it() -> None:
    """Whatever the order of asking and answering."""
    reply: Reply[str] = Reply()
    scope = ThreadScope("reply")
    got: list[object] = []
    scope.spawn("waiter", lambda: got.append(reply.wait(5_000)), stop=lambda: None)
    reply.give("here")
    assert scope.close(5_000) == []
    assert got == [("here", True)]
