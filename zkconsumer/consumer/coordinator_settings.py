"""Converts the settings of a ``KafkaConsumer`` into those of a member of a coordinator's group.

Only consumers in such a group load this module.
"""

from zkconsumer.consumer.config import PollConfig
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import GroupTerms


def group_settings_of(config: PollConfig) -> GroupSettings:
    """Return the settings of the group member."""
    return GroupSettings(
        strategies=config.strategies,
        instance_id=config.group_instance_id,
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        max_poll_interval_ms=config.max_poll_interval_ms,
        retry_backoff_ms=config.retry_backoff_ms,
        retry_backoff_max_ms=config.retry_backoff_max_ms,
        request_timeout_ms=config.request_timeout_ms,
    )


def group_terms_of(group_id: str, config: PollConfig) -> GroupTerms:
    """Return the group, and the settings of membership in it."""
    return GroupTerms(
        group_id=group_id, settings=group_settings_of(config), rack_id=config.client_rack or None
    )
