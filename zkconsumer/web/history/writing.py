"""Writes states as rows, through the caller's connection."""

import json
import sqlite3
from collections.abc import Mapping

from zkconsumer.status.model import GroupKey
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.samples import sample_of
from zkconsumer.web.state import ClusterState

RebalanceId = tuple[GroupKey, int]


class SampleWriter:
    """Writes the groups of a state that have new values. Thread: one.

    Args:
        sample_ms: the minimum interval between two samples of a group, at least 1.
    """

    def __init__(self, sample_ms: int) -> None:
        self._sample_ms = sample_ms
        self._sampled_ms: dict[GroupKey, int] = {}

    def forget(self) -> None:
        """Forget which samples were written, since another file begins without them."""
        self._sampled_ms = {}

    def write(
        self,
        connection: sqlite3.Connection,
        state: ClusterState,
        rebalances: Mapping[RebalanceId, Rebalance],
    ) -> None:
        """Write rebalances, and the groups read since their last sample, in one transaction.

        Raises:
            sqlite3.Error: nothing was written.
        """
        connection.execute("BEGIN IMMEDIATE")
        sampled_ms = self._write_samples(connection, state)
        _write_rebalances(connection, rebalances)
        connection.execute("COMMIT")
        self._sampled_ms = sampled_ms

    def _write_samples(
        self, connection: sqlite3.Connection, state: ClusterState
    ) -> dict[GroupKey, int]:
        sampled_ms: dict[GroupKey, int] = {}
        for key, group in state.snapshot.groups.items():
            last_ms = sampled_ms[key] = self._sampled_ms.get(key, -1)
            if 0 <= group.seen_ms - last_ms < self._sample_ms or not group.partitions:
                continue
            sample = sample_of(group, state.judgements.lag(key))
            series, layout = _series_id(connection, key), _layout_id(connection, sample.layout)
            row = (series, sample.at_ms, sample.lag, layout, sample.body)
            connection.execute(sql.ADD_SAMPLE, row)
            sampled_ms[key] = group.seen_ms
        return sampled_ms


def _write_rebalances(
    connection: sqlite3.Connection, rebalances: Mapping[RebalanceId, Rebalance]
) -> None:
    for rebalance in rebalances.values():
        reasons = json.dumps([str(reason) for reason in rebalance.reasons], ensure_ascii=False)
        row = (
            rebalance.began_ms,
            rebalance.ended_ms,
            len(rebalance.moved),
            rebalance.reclaimed,
            reasons,
        )
        connection.execute(sql.PUT_REBALANCE, (_series_id(connection, rebalance.key), *row))


def _series_id(connection: sqlite3.Connection, key: GroupKey) -> int:
    return _id(connection, sql.FIND_SERIES, sql.ADD_SERIES, (str(key.kind), key.group_id))


def _layout_id(connection: sqlite3.Connection, layout: str) -> int:
    return _id(connection, sql.FIND_LAYOUT, sql.ADD_LAYOUT, (layout,))


def _id(connection: sqlite3.Connection, find: str, add: str, values: tuple[str, ...]) -> int:
    found = connection.execute(find, values).fetchone()
    if found is None:
        connection.execute(add, values)
        found = connection.execute(find, values).fetchone()
    number: int = found[0]
    return number
