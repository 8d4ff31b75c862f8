"""Missing topics in the log, on real threads (the unit tests of the same name hold the rest)."""

import logging

import pytest

from tests.support.scripted_cluster import ScriptedCluster
from tests.support.waiting import wait_until
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.model import TopicPartition
from zkconsumer.scope import ThreadScope


def test_a_topic_that_does_not_exist_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A topic that existed before is not logged, even once it is deleted."""
    cluster = ScriptedCluster(leaders={TopicPartition("t", 0): 0})
    scope = ThreadScope("test-missing")
    views: list[object] = []
    metadata = MetadataManager(
        cluster.client(), scope, refresh_ms=10, backoff_ms=10, on_change=views.append
    )
    with caplog.at_level(logging.WARNING, "zkconsumer.cluster.metadata_manager"):
        metadata.watch(frozenset({"t", "misspelt"}))
        wait_until(lambda: len(cluster.brokers[0].requests) > 8, what="more questions")
        cluster.leaders.clear()
        wait_until(lambda: not metadata.view.partitions, what="a view without the topic")
        assert scope.close(2_000) == []
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "topic misspelt does not exist"
    ]
