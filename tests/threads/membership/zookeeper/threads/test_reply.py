"""Replies between threads, on real threads."""

from zkconsumer.membership.zookeeper.threads.reply import Reply
from zkconsumer.scope import ThreadScope


def test_a_waiting_thread_gets_the_reply() -> None:
    """It does whether it waits before or after the reply is given."""
    reply: Reply[str] = Reply()
    scope = ThreadScope("reply")
    received: list[object] = []
    scope.spawn("waiter", lambda: received.append(reply.wait(5_000)), stop=lambda: None)
    reply.set_result("here")
    assert scope.close(5_000) == []
    assert received == [("here", True)]
