"""Reports how partitions and their leaders are distributed over the brokers. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from zkconsumer.cli.tables import Colour, Painted, json_text, table
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.model import BrokerStatus, TopicStatus

_COLUMNS = (">BROKER", "ADDRESS", ">LEADS", ">PREFERRED", ">REPLICAS", ">NOT IN SYNC", "NOTE")


class _Share(NamedTuple):
    """One broker: how many partitions it leads, should lead, keeps, and is out of sync in."""

    broker_id: int
    status: BrokerStatus | None
    leads: int
    preferred: int
    replicas: int
    behind: int


def leaders_table(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> str:
    """Return a line for each broker that is registered, or has partitions assigned."""
    rows = []
    for share in _shares(brokers, topics):
        status = share.status
        address = None if status is None else f"{status.broker.host}:{status.broker.port}"
        counts = (share.leads, share.preferred, share.replicas, share.behind)
        rows.append([share.broker_id, address, *counts, _note(status)])
    text = table(_COLUMNS, rows)
    away = _leaderless(topics)
    return text + (f"without a leader: {counted(away, 'partition')}\n" if away else "")


def leaders_json(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> str:
    """Return the same as one object."""
    reported = [
        {
            "broker": share.broker_id,
            "host": None if share.status is None else share.status.broker.host,
            "port": None if share.status is None else share.status.broker.port,
            "registered": share.status is not None,
            "controller": share.status is not None and share.status.is_controller,
            "leads": share.leads,
            "preferred": share.preferred,
            "replicas": share.replicas,
            "not_in_sync": share.behind,
            "problem": None if share.status is None else share.status.problem,
        }
        for share in _shares(brokers, topics)
    ]
    return json_text({"brokers": reported, "leaderless_partitions": _leaderless(topics)})


def _note(status: BrokerStatus | None) -> Painted:
    if status is None:
        return Painted("not registered", Colour.BAD)
    if status.problem is not None:
        return Painted(status.problem, Colour.BAD)
    return Painted("controller" if status.is_controller else "", Colour.DIM)


def _shares(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> Iterator[_Share]:
    known = {broker.broker.id: broker for broker in brokers}
    partitions = [partition for topic in topics for partition in topic.partitions]
    assigned = {number for partition in partitions for number in partition.replicas}
    for broker_id in sorted(known.keys() | assigned):
        kept = [partition for partition in partitions if broker_id in partition.replicas]
        yield _Share(
            broker_id,
            known.get(broker_id),
            leads=sum(partition.leader == broker_id for partition in partitions),
            preferred=sum(partition.replicas[0] == broker_id for partition in kept),
            replicas=len(kept),
            behind=sum(broker_id not in partition.in_sync for partition in kept),
        )


def _leaderless(topics: Sequence[TopicStatus]) -> int:
    return sum(partition.leaderless for topic in topics for partition in topic.partitions)
