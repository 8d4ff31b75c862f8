"""Where the settings of a consumer go, on real threads."""

from typing import Any, cast

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.consumer.assembly import assemble
from zkconsumer.consumer.config import PollConfig
from zkconsumer.membership.coordinator.polled.member import GroupMember
from zkconsumer.membership.no_group import NoGroup
from zkconsumer.scope import ThreadScope


@pytest.mark.parametrize(("group_id", "kind"), [("g", GroupMember), (None, NoGroup)])
def test_a_consumer_is_assembled_and_closed(group_id: str | None, kind: type[Any]) -> None:
    """It needs no broker, and leaves no thread."""
    parts = assemble(PollConfig(group_id=group_id, bootstrap_servers="127.0.0.1:1"))
    assert isinstance(parts.session.membership, kind)
    parts.close(5_000, commit=True)
    assert parts.scope.close(0) == []
    assert parts.scope.first_error() is None


def test_a_waiting_poll_is_reported_in_time() -> None:
    """The group is notified often enough, even if ``max.poll.interval.ms`` is very short."""
    parts = assemble(PollConfig(group_id="g", max_poll_interval_ms=200))
    clock, loop = parts.clock, cast("Any", parts.loop)
    rounds: list[int] = []
    loop._turn = lambda: rounds.append(clock.now_ms())
    parts.loop.run(1_000, lambda: None)
    parts.close(5_000, commit=False)
    assert len(rounds) > 5


@pytest.mark.parametrize("wanted", [False, True])
def test_metadata_requests_create_topics_only_if_configured(*, wanted: bool) -> None:
    """The metadata manager passes the setting on in each request."""
    requested: list[bool] = []

    class Client:
        def view(
            self, topics: object, *, timeout_ms: int, allow_auto_create: bool = False
        ) -> ClusterView:
            assert topics == {"t"}
            assert timeout_ms > 0
            requested.append(allow_auto_create)
            return NOTHING_KNOWN

        def stop(self) -> None:
            """Do nothing: there is nothing to stop."""

    scope = ThreadScope("test")
    metadata = MetadataManager(
        cast("Any", Client()),
        scope,
        refresh_ms=60_000,
        on_change=lambda _: None,
        allow_auto_create=wanted,
    )
    metadata.watch(frozenset({"t"}))
    wait_until(lambda: requested, what="the question")
    metadata.stop()
    assert scope.close(5_000) == []
    assert set(requested) == {wanted}
