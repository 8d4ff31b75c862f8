"""Reports how partitions and their leaders are distributed over the brokers. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from zkconsumer.cli.tables import Colour, Painted, json_text, table
from zkconsumer.status.broker_load import BrokerLoad, broker_loads
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.model import BrokerStatus, TopicStatus

_COLUMNS = (">BROKER", "ADDRESS", ">LEADS", ">PREFERRED", ">REPLICAS", ">NOT IN SYNC", "NOTE")


def leaders_table(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> str:
    """Return a line for each broker that is registered, or has partitions assigned."""
    rows = []
    for broker_id, status, load in _loads(brokers, topics):
        address = None if status is None else f"{status.broker.host}:{status.broker.port}"
        rows.append([broker_id, address, *load, _note(status)])
    text = table(_COLUMNS, rows)
    away = _leaderless(topics)
    return text + (f"without a leader: {counted(away, 'partition')}\n" if away else "")


def leaders_json(brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]) -> str:
    """Return the brokers with their loads as one object."""
    reported = [
        {
            "broker": broker_id,
            "host": None if status is None else status.broker.host,
            "port": None if status is None else status.broker.port,
            "registered": status is not None,
            "controller": status is not None and status.is_controller,
            "leads": load.leads,
            "preferred": load.preferred,
            "replicas": load.replicas,
            "not_in_sync": load.behind,
            "problem": None if status is None else status.problem,
        }
        for broker_id, status, load in _loads(brokers, topics)
    ]
    return json_text({"brokers": reported, "leaderless_partitions": _leaderless(topics)})


def _note(status: BrokerStatus | None) -> Painted:
    if status is None:
        return Painted("not registered", Colour.BAD)
    if status.problem is not None:
        return Painted(status.problem, Colour.BAD)
    return Painted("controller" if status.is_controller else "", Colour.DIM)


def _loads(
    brokers: Iterable[BrokerStatus], topics: Sequence[TopicStatus]
) -> Iterator[tuple[int, BrokerStatus | None, BrokerLoad]]:
    """Yield the id of each broker, its status if it is registered, and its load."""
    known = {broker.broker.id: broker for broker in brokers}
    loads = broker_loads(topics)
    assigned = {broker_id for broker_id, load in loads.items() if load.replicas}
    for broker_id in sorted(known.keys() | assigned):
        yield broker_id, known.get(broker_id), loads.get(broker_id, BrokerLoad())


def _leaderless(topics: Sequence[TopicStatus]) -> int:
    return sum(partition.leaderless for topic in topics for partition in topic.partitions)
