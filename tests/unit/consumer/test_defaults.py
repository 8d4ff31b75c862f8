"""Defaults inside the product equal those of the configuration."""

from dataclasses import fields, replace

from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.fetch_wiring import _fetch_settings
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.coordinator_settings import group_settings_of
from zkconsumer.consumer.settings_of import fetch_settings_of
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import Counters
from zkconsumer.fetch.polled.engine import EngineStats
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings
from zkconsumer.offsets.migration.in_kafka import INTERACTIVE
from zkconsumer.streams.delivery import Delivery

STREAMS = ConsumerConfig(zookeeper_connect="h:2181", group_id="g")
POLLS = PollConfig(bootstrap_servers="h:9092", group_id="g")


def test_fetch_defaults_of_streams() -> None:
    """Only a configured consumer lets fetches grow; all other defaults are equal."""
    grown_bytes = STREAMS.fetch_message_catch_up_max_bytes
    assert grown_bytes > FetchSettings().max_partition_bytes
    assert replace(FetchSettings(), grown_bytes=grown_bytes) == _fetch_settings(STREAMS)


def test_fetch_defaults_of_polls() -> None:
    """Only a configured consumer lets fetches grow and names the owner of the positions."""
    grown_bytes = POLLS.fetch_message_catch_up_max_bytes
    assert grown_bytes > CoreFetchSettings().max_partition_bytes
    growing = replace(CoreFetchSettings(), grown_bytes=grown_bytes, shares_growth=True)
    assert replace(growing, owner="group g") == fetch_settings_of(POLLS)


def test_defaults_of_coordinator_group_members() -> None:
    """Times, strategies and pauses after failures are equal."""
    assert GroupSettings() == group_settings_of(POLLS)


def test_defaults_of_zookeeper_group_members() -> None:
    """Commits, rebalances and excluded topics are equal."""
    rebalance = RebalanceSettings(consumer_id="g_a")
    assert MemberSettings(group_id="g", rebalance=rebalance) == MemberSettings(
        group_id="g",
        rebalance=rebalance,
        exclude_internal_topics=STREAMS.exclude_internal_topics,
        auto_commit=STREAMS.auto_commit_enable,
        auto_commit_interval_ms=STREAMS.auto_commit_interval_ms,
        delivery=Delivery(STREAMS.delivery),
        leave_timeout_ms=0,
    )
    assert rebalance == RebalanceSettings(
        consumer_id="g_a",
        strategy=STREAMS.partition_assignment_strategy,
        max_retries=STREAMS.rebalance_max_retries,
        backoff_ms=STREAMS.rebalance_backoff_ms,
        session_timeout_ms=0,  # negotiated with the server
        audit_interval_ms=0,  # no audits unless configured
    )


def test_interactive_pauses_are_shorter_than_its_time_outs() -> None:
    """The time-out of a request exceeds a pause, and the limit of all attempts exceeds both."""
    assert 0 < INTERACTIVE.backoff_ms < INTERACTIVE.timeout_ms < INTERACTIVE.limit_ms


def test_counters_start_at_zero() -> None:
    """Every counter of a reader is 0 at first."""
    for kind in (Counters, EngineStats):
        assert {getattr(kind(), field.name) for field in fields(kind)} == {0}
