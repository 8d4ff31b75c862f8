"""Finds clients that Kafka 4 rejects, by the requests that brokers have counted or logged. Pure.

The one rule: clients count as ready only if every broker was read and reports versions
(decision 0086).
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
    """Yield one diagnosis of the versions of clients' requests, as far as they are known.

    Args:
        snapshot: the cluster and its groups.
        metrics: the request counts of each queried endpoint.
        logs: the given request logs.
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
                "Clients send requests in versions that Kafka 4 rejects; counted since the "
                "brokers started, or in the request logs."
                if logs
                else "Clients send requests in versions that Kafka 4 rejects; counted since the "
                "brokers started."
            ),
            evidence=some_of_both(refused, unknown),
            repair=(
                "Upgrade these programs to a newer client library: Java 2.1 or later. If the "
                "library is not named, the client's id and address are in the brokers' request "
                "logs (kafka.request.logger at DEBUG, in 0.10.2 TRACE): give --request-log FILE."
            ),
        )
    elif not unknown and brokers and brokers <= _read_well(metrics):
        yield Diagnosis(
            code=Code.READY_CLIENTS,
            severity=Severity.NOTE,
            what=(
                f"No client has sent {counted(len(brokers), 'broker')} a request in a version "
                "that Kafka 4 rejects since the brokers started."
            ),
            evidence=[read.source for read in metrics],
            repair=(
                "Check again after rarely running programs have run: brokers count from their "
                "start."
            ),
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
        return (
            "no request counts found (kafka.network, RequestMetrics): is this a broker's endpoint?"
        )
    if not read.tells_versions:
        return "it reports no request versions: brokers before 2.0 don't count requests by version"
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
        f"{read.source}: its broker can't be determined: none is registered at that host, or "
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
            f"The request versions of clients are unknown{extent}: brokers don't report them over "
            "Kafka's protocol. Kafka 4 rejects Produce before version 3, Fetch before version 4 "
            "and other versions as old: those of Java clients before 2.1, and of all consumers "
            "that use ZooKeeper."
        ),
        evidence=some_of_both(unknown, clients),
        repair=(
            "Brokers from 2.0 on count requests by version. Enable their JMX (JMX_PORT) and give "
            "--jmx HOST:PORT, or --metrics-url URL of a Prometheus JMX exporter or Jolokia. "
            "Older brokers log them with kafka.request.logger at DEBUG (0.10.2: TRACE): give "
            "--request-log FILE, and check each program's client library."
        ),
    )


def _of_log(log: RequestLog) -> str:
    if not log.total:
        return (
            f"{log.source}: no completed requests: is kafka.request.logger at DEBUG "
            "(0.10.2: TRACE)?"
        )
    return (
        f"{log.source}: none of {counted(log.total, 'request')} is rejected; it shows nothing "
        "about other times and brokers"
    )
