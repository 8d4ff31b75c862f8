"""Which setting reaches which component."""

from dataclasses import fields
from typing import Any

import pytest

from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.coordinator_settings import group_settings_of
from zkconsumer.consumer.settings_of import fetch_settings_of, policy_of
from zkconsumer.errors import ConfigError
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, LATEST
from zkconsumer.net.security import security_in
from zkconsumer.net.tls import context_for
from zkconsumer.records.transactions import IsolationLevel


def test_every_setting_of_fetching_comes_from_the_configuration() -> None:
    """No fetch setting is left at its default by mistake; queues have a limit of their own."""
    found = fetch_settings_of(
        PollConfig(
            fetch_min_bytes=2,
            fetch_max_wait_ms=3,
            fetch_max_bytes=4,
            max_partition_fetch_bytes=5,
            fetch_message_growth_max_bytes=6,
            fetch_max_decompressed_bytes=7,
            fetch_message_catch_up_max_bytes=11,
            request_timeout_ms=8,
            retry_backoff_ms=9,
            retry_backoff_max_ms=10,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            client_rack="r",
            enable_incremental_fetch_sessions=False,
        )
    )
    names = [field.name for field in fields(CoreFetchSettings) if field.name != "queued_bytes"]
    values = [getattr(found, name) for name in names]
    assert sorted(value for value in values if isinstance(value, int) and value > 1) == list(
        range(2, 12)
    )
    assert found.shares_growth
    assert found.isolation is IsolationLevel.READ_COMMITTED
    assert (found.reset, found.client_rack) == (EARLIEST, "r")
    assert not found.sessions


def test_no_fetch_grows_beyond_the_largest_accepted_response() -> None:
    """A larger response would be refused and requested again."""

    def grown_bytes(**given: Any) -> int:
        return fetch_settings_of(PollConfig(None, **given)).grown_bytes

    assert grown_bytes() == 4_194_304
    assert grown_bytes(receive_message_max_bytes=3_000_000) == 1_500_000
    assert grown_bytes(receive_message_max_bytes=1_000) == 1_048_576


def test_reset_policies() -> None:
    """The policy of ``auto.offset.reset=none`` is None."""
    words = ("earliest", "latest", "none")
    configs = [PollConfig({"auto.offset.reset": word}) for word in words]
    assert [policy_of(config) for config in configs] == [
        EARLIEST,
        LATEST,
        None,
    ]


def test_membership_comes_from_the_configuration() -> None:
    """All settings of a group member are taken from the configuration."""
    found = group_settings_of(
        PollConfig(
            group_id="g",
            group_instance_id="one",
            session_timeout_ms=60_000,
            heartbeat_interval_ms=7,
            max_poll_interval_ms=8,
            request_timeout_ms=61_000,
            retry_backoff_ms=9,
            retry_backoff_max_ms=10,
            partition_assignment_strategy="sticky",
        )
    )
    assert (found.strategies, found.instance_id) == (("sticky",), "one")
    assert (found.session_timeout_ms, found.heartbeat_interval_ms) == (60_000, 7)
    assert (found.max_poll_interval_ms, found.request_timeout_ms) == (8, 61_000)
    assert (found.retry_backoff_ms, found.retry_backoff_max_ms) == (9, 10)


def test_security_settings_are_checked_before_connecting() -> None:
    """Settings that cannot work are refused before any connection."""
    found = security_in(
        PollConfig(
            security_protocol="SASL_SSL",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_plain_username="u",
            sasl_plain_password="p",
            ssl_check_hostname=False,
            ssl_ciphers="ECDHE-RSA-AES256-GCM-SHA384",
        ).security_values
    )
    assert (found.protocol, found.sasl_username) == ("SASL_SSL", "u")
    context = context_for(found)
    assert context is not None
    assert context.check_hostname is False
    for wrong in (
        {"security_protocol": "SASL_PLAINTEXT"},
        {"security_protocol": "SSL", "ssl_cafile": "/nowhere"},
        {"security_protocol": "SSL", "ssl_crlfile": "/nowhere"},
        {"security_protocol": "SSL", "ssl_ciphers": "none of these"},
    ):
        with pytest.raises(ConfigError):
            context_for(security_in(PollConfig(wrong).security_values))
