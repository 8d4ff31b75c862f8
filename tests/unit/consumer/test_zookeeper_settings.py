"""Settings of a ``KafkaConsumer`` in a ZooKeeper group, passed to its member."""

import pytest

from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.zookeeper_settings import consumer_config
from zkconsumer.errors import ConfigError


def config(**settings: object) -> PollConfig:
    """Build a configuration for a ZooKeeper group."""
    return PollConfig({"zookeeper.connect": "zk:1/c", "group.id": "g", **settings})


def test_common_and_group_settings_are_passed_on() -> None:
    """The rest has the defaults of the original."""
    given = consumer_config(
        config(
            client_id="c",
            enable_auto_commit=False,
            exclude_internal_topics=False,
            consumer_id="me",
            rebalance_max_retries=9,
            offsets_storage="kafka",
        )
    )
    assert (given.zookeeper_connect, given.group_id) == ("zk:1/c", "g")
    assert (given.client_id, given.consumer_id) == ("c", "me")
    assert (given.auto_commit_enable, given.exclude_internal_topics) == (False, False)
    assert (given.rebalance_max_retries, given.rebalance_backoff_ms) == (9, 2_000)
    assert given.offsets_storage == "kafka"


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        (None, "range"),
        ("roundrobin", "roundrobin"),
        ("cooperative-sticky,roundrobin,range", "roundrobin"),
    ],
)
def test_the_first_strategy_that_scala_members_know_is_used(
    strategies: str | None, expected: str
) -> None:
    """All members must use the same one, and cannot negotiate it."""
    given = config(partition_assignment_strategy=strategies)
    assert consumer_config(given).partition_assignment_strategy == expected


def test_a_strategy_that_scala_members_lack_is_refused() -> None:
    """It would assign differently than the other members."""
    with pytest.raises(
        ConfigError, match="members of a ZooKeeper group support range and roundrobin"
    ):
        consumer_config(config(partition_assignment_strategy="sticky"))


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("auto.commit.enable", "give enable_auto_commit"),
        ("fetch.message.max.bytes", "give max_partition_fetch_bytes"),
        ("delivery", "commit"),
        ("poison.policy", "PartitionFailed"),
    ],
)
def test_settings_of_streams_are_refused_with_an_alternative(key: str, advice: str) -> None:
    """They are not silently ignored."""
    with pytest.raises(ConfigError, match=rf"{key} is a setting of streams; .*{advice}"):
        consumer_config(config(**{key: "1"}))


def test_settings_without_effect_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """They change nothing that a program could rely on."""
    caplog.set_level("INFO")
    consumer_config(config(num_consumer_fetchers=3))
    assert "num.consumer.fetchers is accepted but has no effect with poll" in caplog.text
