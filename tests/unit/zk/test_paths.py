"""Paths in ZooKeeper, and which names may be part of one."""

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.zk.paths import (
    GroupPaths,
    ancestors_of,
    broker_path,
    is_path,
    is_segment,
    parent_of,
    topic_path,
)


def test_the_paths_are_those_of_kafka_0_8() -> None:
    """The paths are Kafka 0.8's, not those of 0.7, which old comments still show."""
    group = GroupPaths("g1")
    tp = TopicPartition("t.1", 3)
    assert group.ids == "/consumers/g1/ids"
    assert group.member("g1_vm-1-ab") == "/consumers/g1/ids/g1_vm-1-ab"
    assert group.owners("t.1") == "/consumers/g1/owners/t.1"
    assert group.owner(tp) == "/consumers/g1/owners/t.1/3"
    assert group.offset(tp) == "/consumers/g1/offsets/t.1/3"
    assert broker_path(7) == "/brokers/ids/7"
    assert topic_path("t.1") == "/brokers/topics/t.1"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "\x00", "a\x1f", "\x7f", "\ud800", "\uf8ff"]
)
def test_names_that_zookeeper_refuses_are_no_segments(name: str) -> None:
    """Names that ZooKeeper refuses are no path segments, and are never sent to it."""
    assert not is_segment(name)
    with pytest.raises(ConfigError):
        GroupPaths(name)
    with pytest.raises(ConfigError):
        GroupPaths("g").member(name)


@pytest.mark.parametrize("name", ["a", "a b", "...", "\u00e9", "-", "a.b_c-d"])
def test_other_names_are_segments(name: str) -> None:
    """ZooKeeper allows more names than Kafka does."""
    assert is_segment(name)
    assert is_path(f"/x/{name}")


@pytest.mark.parametrize("path", ["", "a", "//", "/a/", "/a//b", "/./a"])
def test_an_invalid_path_is_refused(path: str) -> None:
    """An invalid path is refused, not normalized."""
    assert not is_path(path)


def test_parents_and_ancestors_of_a_path() -> None:
    """The ancestors of a path are listed from the top, without the root."""
    assert is_path("/")
    assert parent_of("/a/b") == "/a"
    assert parent_of("/a") == "/"
    assert ancestors_of("/a/b/c") == ["/a", "/a/b"]
    assert ancestors_of("/a") == []
