"""Whether clients are ready for Kafka 4, by the requests that brokers counted or logged."""

from dataclasses import replace

from tests.support.diagnosed_cluster import healthy
from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity
from zkconsumer.status.doctor.ready_clients import examine_clients
from zkconsumer.status.doctor.request_counts import RequestCount, RequestMetrics
from zkconsumer.status.doctor.request_logs import RequestLog
from zkconsumer.status.model import GroupKind, GroupStatus, MemberStatus

NEW = RequestCount(request="FetchConsumer", version=11, count=5)
OLD = RequestCount(request="FetchConsumer", version=2, count=1)
EMPTY = RequestLog(source="empty.log")
UNTOLD = RequestCount(request="FetchConsumer", version=None, count=5)


def found(*metrics: RequestMetrics) -> Diagnosis:
    """Return the only finding."""
    (diagnosis,) = examine_clients(healthy().snapshot(), metrics)
    return diagnosis


def broker(number: int, *counts: RequestCount, problem: str | None = None) -> RequestMetrics:
    """Return the metrics of one broker."""
    return RequestMetrics(source=f"broker {number}", counts=counts, problem=problem, broker=number)


def test_a_refused_version_is_an_error() -> None:
    """A request version that Kafka 4 refuses is an error, even if another broker was not read."""
    diagnosis = found(broker(0, NEW, OLD), broker(1, problem="ConnectException"))
    assert diagnosis.severity is Severity.ERROR
    assert diagnosis.evidence == (
        "broker 0: FetchConsumer version 2, 1 time, by an unnamed client library",
        "broker 1: ConnectException",
    )


def test_many_lines_of_one_kind_do_not_hide_the_other() -> None:
    """Of many lines each kind is shown: refused requests, unread brokers and known clients."""
    refused = found(*[broker(0, OLD)] * 100, broker(1, problem="ConnectException")).evidence
    assert refused[-2:] == ("... and 91 more", "broker 1: ConnectException")
    member = MemberStatus(member_id="m", client_id="old", host="h", streams={})
    group = GroupStatus(
        group_id="g", kind=GroupKind.COORDINATOR, seen_ms=0, members=(member,), partitions=()
    )
    dark = [broker(number, problem="ConnectException") for number in range(100)]
    (unseen,) = examine_clients(healthy().snapshot(group), dark)
    assert unseen.evidence[-2:] == ("... and 91 more", "g: client old at h")


def test_all_brokers_without_a_refused_version_are_a_note() -> None:
    """If no broker counted a refused version, it is a note, as counts start with the broker."""
    size = len(healthy().snapshot().brokers)
    diagnosis = found(*(broker(number, NEW) for number in range(size)))
    assert diagnosis.severity is Severity.NOTE
    assert "since the brokers started" in diagnosis.what


def test_a_broker_that_was_not_read_is_a_warning() -> None:
    """A broker that fails, counts no versions, counts nothing, or was not read, is a warning."""
    size = len(healthy().snapshot().brokers)
    well = [broker(number, NEW) for number in range(size - 1)]
    for last in (broker(9, problem="refused"), broker(9, UNTOLD), broker(9), None):
        diagnosis = found(*well, *([] if last is None else [last]))
        assert diagnosis.severity is Severity.WARNING
        assert "are unknown" in diagnosis.what
        assert "JMX_PORT" in diagnosis.repair


def test_a_broker_that_is_read_twice_counts_once() -> None:
    """A broker that is read at several endpoints counts once, and the unread one is named."""
    twice = [replace(broker(0, NEW), source=source) for source in ("a:7071", "a:8778", "10.0.0.1")]
    diagnosis = found(*twice)
    assert diagnosis.severity is Severity.WARNING
    assert "are unknown at 1 of 2 brokers" in diagnosis.what
    assert "broker 1: its counts" in diagnosis.evidence
    assert found(*twice, broker(1, NEW)).severity is Severity.NOTE


def test_metrics_of_no_known_broker_count_for_none() -> None:
    """Metrics of no known broker make no broker count as read, but their refused requests count."""
    for owner in (None, 7):
        stranger = replace(broker(9, NEW), broker=owner)
        diagnosis = found(broker(0, NEW), stranger, stranger)
        assert diagnosis.severity is Severity.WARNING
        assert any(
            line.startswith("broker 9: its broker can't be determined")
            for line in diagnosis.evidence
        )
        assert found(broker(0, NEW), broker(1, NEW), stranger).severity is Severity.NOTE
    refused = found(replace(broker(9, OLD), broker=None))
    assert refused.severity is Severity.ERROR, "it is bad news all the same"


def test_request_logs_name_refused_clients_and_count_for_no_broker() -> None:
    """Request logs name the clients that are refused, and never make a broker count as read."""
    old = RequestCount(request="Produce", version=0, count=7, library="client 'old' at 10.0.0.7")
    log = RequestLog(source="requests.log", total=10, refused=(old,))
    (refused,) = examine_clients(healthy().snapshot(), [], [log])
    assert refused.severity is Severity.ERROR
    assert refused.evidence == (
        "requests.log: Produce version 0, 7 times, by client 'old' at 10.0.0.7",
    )
    for quiet, evidence in (
        (replace(log, refused=()), "none of 10 requests"),
        (EMPTY, "at DEBUG ("),
    ):
        (unseen,) = examine_clients(healthy().snapshot(), [], [quiet])
        assert unseen.severity is Severity.WARNING
        assert evidence in unseen.evidence[0]


def test_a_source_without_counts_is_reported_as_a_wrong_one() -> None:
    """A source without any counts is reported as a probably wrong address."""
    assert any("is this a broker's endpoint?" in line for line in found(broker(9)).evidence)
