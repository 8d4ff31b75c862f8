"""Builds the JSON of the API, for programs and for the pages' scripts. Pure.

Keys are in snake_case, offsets are numbers, unknown values are null. Times for charts are in ms
since the epoch, with keys that end in ``_ms``.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, TypeAlias

from zkconsumer.status.model import GroupKey, GroupStatus
from zkconsumer.web.health import health_of
from zkconsumer.web.pages.group_rows import GroupRow, group_rows
from zkconsumer.web.state import ClusterState, LagSeries, PastRebalance

Json: TypeAlias = dict[str, Any]


def state_json(state: ClusterState, now_ms: int) -> Json:
    """Return the age of the state, the size of the cluster, and the parts that can't be read."""
    health = health_of(state, now_ms)
    snapshot = state.snapshot
    alone = snapshot.brokers_alone
    return {
        "number": state.number,
        "zookeeper_connect": snapshot.zookeeper_connect,
        "bootstrap_servers": None if alone is None else alone.bootstrap_servers,
        "zookeeper": snapshot.zookeeper,
        "now_ms": now_ms,
        "started_ms": state.started_ms,
        "taken_ms": state.taken_ms,
        "age_ms": health.age_ms,
        "healthy": health.well,
        "reason": health.reason,
        "read_duration_ms": state.read_duration_ms,
        "interval_ms": state.interval_ms,
        "brokers": len(snapshot.brokers),
        "topics": len(snapshot.topics),
        "groups": len(snapshot.groups),
        "failures": [
            {"part": failure.part, "reason": failure.reason, "since_ms": failure.since_ms}
            for failure in snapshot.failures
        ],
    }


def groups_json(state: ClusterState) -> Json:
    """Return a summary of all groups."""
    rows = group_rows(state, sorted(state.snapshot.groups))
    groups = [_group_json(state.snapshot.groups[row.key], row) for row in rows]
    return {"number": state.number, "groups": groups}


def _group_json(group: GroupStatus, row: GroupRow) -> Json:
    key, rates = row.key, row.rates
    return {
        "kind": str(key.kind),
        "group_id": key.group_id,
        "state": str(row.state),
        "seen_ms": row.seen_ms,
        "silent_since_ms": group.silent_since_ms,
        "last_commit_ms": row.last_commit_ms,
        "written_per_s": rates.written,
        "read_per_s": rates.read,
        "caught_up_in_ms": rates.caught_up_ms(row.lag),
        "members": row.members,
        "partitions": row.partitions,
        "lag": row.lag,
        "unknown_lags": row.unknown,
        "lag_ms": None if row.time is None else row.time.ms,
        "lag_ms_estimated": None if row.time is None else row.time.estimated,
        "burrow": row.burrow.name,
        "verdict": _verdict_json(row),
    }


def _verdict_json(row: GroupRow) -> Json:
    """Return the verdict that the pages show for a group."""
    verdict, findings = row.verdict, row.findings
    return {
        "word": verdict.word,
        "tone": str(verdict.tone),
        "sentence": verdict.sentence,
        "code": None if verdict.diagnosis is None else str(verdict.diagnosis.code),
        "findings": None if findings is None else len(findings),
    }


def lag_json(key: GroupKey, since_ms: int, until_ms: int, series: LagSeries) -> Json:
    """Return a group's lag over time, in columns, as charts need it."""
    return {
        "kind": str(key.kind),
        "group_id": key.group_id,
        "since_ms": since_ms,
        "until_ms": until_ms,
        "times_ms": series.times_ms,
        "total": series.total,
        "partitions": [
            {
                **tp._asdict(),
                "lag": partition.lag,
                "committed": partition.committed,
                "log_end": partition.log_end,
                "seconds": partition.seconds,
            }
            for tp, partition in series.partitions.items()
        ],
        "partitions_left_out": series.left_out,
        "problem": series.problem,
    }


def rebalances_json(key: GroupKey, rebalances: Iterable[PastRebalance]) -> Json:
    """Return the rebalances of a group, the oldest first."""
    return {
        "kind": str(key.kind),
        "group_id": key.group_id,
        "rebalances": [asdict(rebalance) for rebalance in rebalances],
    }
