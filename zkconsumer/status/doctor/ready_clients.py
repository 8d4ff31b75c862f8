"""Finds clients that Kafka 4 refuses, by what brokers report of their requests. Pure.

The one rule: clients count as ready only if every broker was read, and reports versions (0086).
"""

from collections.abc import Iterator, Sequence

from zkconsumer.status.doctor.diagnosis import (
    Code,
    Diagnosis,
    Severity,
    counted,
    some_of_both,
)
from zkconsumer.status.doctor.request_counts import RequestMetrics
from zkconsumer.status.doctor.request_logs import RequestLog
from zkconsumer.status.model import ClusterSnapshot, GroupKind


def examine_clients(
    snapshot: ClusterSnapshot, metrics: Sequence[RequestMetrics], logs: Sequence[RequestLog] = ()
) -> Iterator[Diagnosis]:
    """Yield what is known of the versions of clients' requests: always one diagnosis.

    Args:
        snapshot: the cluster and its groups.
        metrics: of each broker whose metrics were asked for.
        logs: the request logs that were given.
    """
    refused = [f"{log.source}: {count}" for log in logs for count in log.refused]
    refused += [f"{read.source}: {count}" for read in metrics for count in read.refused()]
    unknown = [f"{read.source}: {why}" for read in metrics if (why := _why_unknown(read))]
    brokers = {status.broker.id for status in snapshot.brokers}
    if refused:
        yield Diagnosis(
            code=Code.READY_CLIENTS,
            severity=Severity.ERROR,
            what=(
                "Clients ask in versions that Kafka 4 refuses; counted since the brokers started, "
                "or in the request logs."
                if logs
                else "Clients ask in versions that Kafka 4 refuses; counted since the brokers "
                "started."
            ),
            evidence=some_of_both(refused, unknown),
            repair=(
                "Bring these programs to a newer client library: Java 2.1 or later. Where it is "
                "not named, the client's id and address stand in the brokers' request logs "
                "(kafka.request.logger at DEBUG): give --request-log FILE."
            ),
        )
    elif not unknown and brokers and brokers <= _read_well(metrics):
        yield Diagnosis(
            code=Code.READY_CLIENTS,
            severity=Severity.NOTE,
            what=(
                f"No client of {counted(len(brokers), 'broker')} has asked in a version "
                "that Kafka 4 refuses since the brokers started."
            ),
            evidence=[read.source for read in metrics],
            repair="Look again when what runs seldom has run: they count from their start.",
        )
    else:
        yield _unseen(snapshot, metrics, unknown, logs)


def _read_well(metrics: Sequence[RequestMetrics]) -> set[int]:
    """Return the brokers that report versions: two endpoints of one broker count as one."""
    return {
        read.broker for read in metrics if read.broker is not None and _why_unknown(read) is None
    }


def _why_unknown(read: RequestMetrics) -> str | None:
    if read.problem is not None:
        return read.problem
    if not read.counts:
        return "no counts of requests (kafka.network, RequestMetrics) are there: is it a broker's?"
    if not read.tells_versions:
        return "it tells no versions of requests: brokers before 2.0 don't count by them"
    return None


def _unseen(
    snapshot: ClusterSnapshot,
    metrics: Sequence[RequestMetrics],
    unknown: list[str],
    logs: Sequence[RequestLog],
) -> Diagnosis:
    clients = sorted(
        {
            f"{group.group_id}: client {member.client_id or '?'} at {member.host or '?'}"
            for group in snapshot.groups.values()
            if group.kind is GroupKind.COORDINATOR
            for member in group.members
        }
    )
    brokers = {status.broker.id for status in snapshot.brokers}
    left = sorted(brokers - _read_well(metrics))
    strangers = [
        f"{read.source}: which broker's it is is not known: none is registered at that host, or "
        "several are"
        for read in metrics
        if read.broker not in brokers and _why_unknown(read) is None
    ]
    unread = [f"broker {at}: its counts" for at in left] if len(left) < len(brokers) else []
    unknown = [*map(_of_log, logs), *unknown, *strangers, *unread]
    extent = (
        f" at {len(left)} of {counted(len(brokers), 'broker')}" if len(left) < len(brokers) else ""
    )
    return Diagnosis(
        code=Code.READY_CLIENTS,
        severity=Severity.WARNING,
        what=(
            f"Which versions clients ask in was not seen{extent}: brokers tell that to nobody "
            "over Kafka's protocol. Kafka 4 refuses Produce before 3, Fetch before 4 and others as "
            "old: those of Java clients before 2.1, and of all that meet in ZooKeeper."
        ),
        evidence=some_of_both(unknown, clients),
        repair=(
            "Brokers from 2.0 on count requests by version. Open their JMX (JMX_PORT) and give "
            "--jmx HOST:PORT, or --metrics-url URL of a Prometheus JMX exporter or Jolokia. Older "
            "ones write them down with kafka.request.logger at DEBUG: give --request-log FILE, "
            "and look at each program's client library."
        ),
    )


def _of_log(log: RequestLog) -> str:
    if not log.total:
        return (
            f"{log.source}: no completed requests: is kafka.request.logger at DEBUG (of 0.10: "
            "TRACE)?"
        )
    return (
        f"{log.source}: none of {counted(log.total, 'request')} is refused; of other times and "
        "brokers it tells nothing"
    )
