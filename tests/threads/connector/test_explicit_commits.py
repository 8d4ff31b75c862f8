"""Commits of given offsets, on real threads (the unit tests of the same name hold the rest)."""

from typing import Any

import pytest

from tests.support.control_bench import (
    ControlledMember,
    Group,
)
from tests.support.memory_connector import MemoryConnector
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError, ConsumerClosed
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T0 = TopicPartition("t", 0)


# --- the map of offsets --------------------------------------------------------------------------

_GOOD = OffsetAndMetadata(1)


@pytest.mark.parametrize(
    "offsets",
    [
        [T0],
        "t-0",
        5,
        {T0: 5},
        {("t", 0): _GOOD},
        {"t": _GOOD},
        {T0: None},
        {T0: OffsetAndMetadata("5")},  # type: ignore[arg-type]
        {T0: OffsetAndMetadata(5.0)},  # type: ignore[arg-type]
        {T0: OffsetAndMetadata(True)},
        {T0: OffsetAndMetadata(5, None)},  # type: ignore[arg-type]
        {TopicPartition("t", "0"): _GOOD},  # type: ignore[arg-type]
        {TopicPartition(b"t", 0): _GOOD},  # type: ignore[arg-type]
    ],
)
def test_an_invalid_map_of_offsets_is_refused(offsets: Any) -> None:
    """The caller gets an error that names it; the member goes on and can commit."""
    group = Group(time=SystemClock())
    with MemoryConnector(ControlledMember(group, "a", auto_commit=False)) as connector:
        connector.create_message_streams({"t": 1})
        with pytest.raises(ConfigError, match="offset"):
            connector.commit_offsets(offsets)
        assert group.offset(0) is None
        assert connector.commit_offsets({T0: _GOOD}) == 1
        assert group.offset(0) == "1"


def test_after_the_shutdown_commits_are_refused() -> None:
    """They are at once, without a wait."""
    group = Group(time=SystemClock())
    connector = MemoryConnector(ControlledMember(group, "a", auto_commit=False))
    connector.create_message_streams({"t": 1})
    connector.shutdown()
    with pytest.raises(ConsumerClosed):
        connector.commit_offsets({T0: _GOOD})
    assert group.offset(0) is None
