"""Reports how partitions and their leaders are distributed over the brokers. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from zkconsumer.cli.tables import Colour, Painted, json_text, table
from zkconsumer.status.broker_load import BrokerLoad, broker_loads
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.model import BrokerStatus, TopicStatus

_COLUMNS = (">BROKER", "ADDRESS", ">LEADS", ">PREFERRED", ">REPLICAS", ">NOT IN SYNC", "NOTE")


class _Share(NamedTuple):
    """The load of one broker."""

    broker_id: int
    status: BrokerStatus | None
    load: BrokerLoad


def leaders_table(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> str:
    """Return a line for each broker that is registered, or has partitions assigned."""
    rows = []
    for share in _shares(brokers, topics):
        status = share.status
        address = None if status is None else f"{status.broker.host}:{status.broker.port}"
        rows.append([share.broker_id, address, *share.load, _note(status)])
    text = table(_COLUMNS, rows)
    away = _leaderless(topics)
    return text + (f"without a leader: {counted(away, 'partition')}\n" if away else "")


def leaders_json(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> str:
    """Return the brokers with their loads as one object."""
    reported = [
        {
            "broker": share.broker_id,
            "host": None if share.status is None else share.status.broker.host,
            "port": None if share.status is None else share.status.broker.port,
            "registered": share.status is not None,
            "controller": share.status is not None and share.status.is_controller,
            "leads": share.load.leads,
            "preferred": share.load.preferred,
            "replicas": share.load.replicas,
            "not_in_sync": share.load.behind,
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
    loads = broker_loads(topics)
    assigned = {broker_id for broker_id, load in loads.items() if load.replicas}
    for broker_id in sorted(known.keys() | assigned):
        yield _Share(broker_id, known.get(broker_id), loads.get(broker_id, BrokerLoad()))


def _leaderless(topics: Sequence[TopicStatus]) -> int:
    return sum(partition.leaderless for topic in topics for partition in topic.partitions)
