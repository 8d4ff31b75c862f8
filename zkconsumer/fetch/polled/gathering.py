"""Decide whether a poll waits a little for first responses after an assignment. Pure.

Responses arrive one by one, and a caller that takes the first gets one partition's records where
all have some. So a poll with time left waits until each partition has had one response, except
those paused, without a leader, or of a broker that can't be reached. A partition that is
merely slow holds up the others for ``MOST_MS``, once; later polls don't wait.
"""

from typing import Final

from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates

MOST_MS: Final = 250
"""Longest wait of records for first responses about others, counted from the first."""


def gather_ms(states: PartitionStates, now_ms: int, *, enough: int) -> int:
    """Return how much longer to hold records back, in ms; 0: no longer.

    Args:
        states: all partitions.
        now_ms: the time.
        enough: number of records that end the wait.
    """
    if not states.fresh:
        states.gathering_since_ms = None
        return 0
    if not states.line or states.failures or not any(map(_is_awaited, states.fresh.values())):
        return 0
    if sum(_records(state) for state in states.line.values()) >= enough:
        return 0
    if states.gathering_since_ms is None:
        states.gathering_since_ms = now_ms
    left_ms = states.gathering_since_ms + MOST_MS - now_ms
    if left_ms > 0:
        return left_ms
    states.fresh.clear()
    states.gathering_since_ms = None
    return 0


def _is_awaited(state: PartitionState) -> bool:
    return not (state.is_paused or state.failures or state.source is None or state.trouble)


def _records(state: PartitionState) -> int:
    return sum(len(chunk.records) for chunk in state.waiting)
