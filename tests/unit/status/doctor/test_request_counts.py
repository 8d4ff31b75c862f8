"""Brokers' request counts, as read from MBeans and from two forms of an exporter's samples."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.status.doctor.request_counts import (
    RequestCount,
    RequestMetrics,
    counts_of_mbeans,
    counts_of_samples,
)

BEAN = "kafka.network:type=RequestMetrics,name="
OF_3_9 = [
    (
        BEAN + "DeprecatedRequestsPerSec,request=FetchConsumer,version=3,clientSoftwareName=sarama,"
        "clientSoftwareVersion=1.2.3",
        4,
    ),
    (
        BEAN + "DeprecatedRequestsPerSec,request=Fetch,version=3,clientSoftwareName=sarama,"
        "clientSoftwareVersion=1.2.3",
        "4",
    ),
    (
        BEAN + "DeprecatedRequestsPerSec,request=ListOffsets,version=0,clientSoftwareName=unknown,"
        "clientSoftwareVersion=unknown",
        1,
    ),
    (BEAN + "RequestsPerSec,request=FetchConsumer,version=3", 4),
    (BEAN + "RequestsPerSec,request=ListOffsets,version=0", 1),
    (BEAN + "RequestsPerSec,request=Metadata,version=0", 19),
    (BEAN + "RequestsPerSec,request=Produce,version=2", 0),
]
UNRULED = """\
# TYPE kafka_network_RequestMetrics_Count untyped
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="FetchConsumer",version="3",} 4.0
kafka_network_RequestMetrics_OneMinuteRate{name="RequestsPerSec",request="Fetch",version="3",} 0.2
kafka_network_RequestMetrics_Count{name="DeprecatedRequestsPerSec",request="FetchConsumer",\
version="3",clientSoftwareName="sarama",clientSoftwareVersion="1.2.3",} 4.0
"""
RULED = """\
kafka_network_requestmetrics_deprecatedrequests_total{clientSoftwareVersion="1.2.3",\
request_FetchConsumer_version_3_clientSoftwareName="sarama"} 4.0
kafka_network_requestmetrics_requests_total{request="FetchConsumer",version="3"} 4.0
kafka_server_brokertopicmetrics_totalfetchrequests_total{topic="t"} 2.0
"""


def lines(counts: tuple[RequestCount, ...]) -> list[str]:
    """Return the descriptions of those counts that Kafka 4 refuses."""
    return [str(count) for count in RequestMetrics(source="b", counts=counts).refused()]


def test_mbeans_of_3_9_name_the_library() -> None:
    """MBeans of 3.9 name the client library; a request that is counted twice is listed once."""
    assert lines(counts_of_mbeans(OF_3_9)) == [
        "FetchConsumer version 3, 4 times, by sarama 1.2.3",
        "ListOffsets version 0, 1 time, by an unnamed client library",
    ]


def test_mbeans_of_2_0_have_versions_only() -> None:
    """MBeans of 2.0 have versions, which show what Kafka 4 refuses; followers don't count."""
    older = [bean for bean in OF_3_9 if "Deprecated" not in bean[0]]
    older += [(BEAN + "RequestsPerSec,request=FetchFollower,version=2", 9)]
    assert lines(counts_of_mbeans(older)) == [
        "FetchConsumer version 3, 4 times, by an unnamed client library",
        "ListOffsets version 0, 1 time, by an unnamed client library",
    ]


def test_mbeans_of_1_1_have_no_versions() -> None:
    """MBeans of 1.1 have no versions, so nothing follows from them."""
    read = RequestMetrics(
        source="b", counts=counts_of_mbeans([(BEAN + "RequestsPerSec,request=Fetch", 9)])
    )
    assert read.counts
    assert not read.tells_versions
    assert read.refused() == []


@pytest.mark.parametrize(("text", "library"), [(UNRULED, "sarama 1.2.3"), (RULED, "")])
def test_samples_of_an_exporter_are_read(text: str, library: str) -> None:
    """An exporter's samples are read with its own names, and as its usual rules rewrite them."""
    by = library or "an unnamed client library"
    assert lines(counts_of_samples(text)) == [f"FetchConsumer version 3, 4 times, by {by}"]


@given(st.text(), st.one_of(st.none(), st.text(), st.floats(), st.integers()))
def test_hostile_counts_are_harmless(text: str, count: object) -> None:
    """Hostile names and counts become a short, printable count, or none."""
    hostile = [(BEAN + f"RequestsPerSec,request={text},version={text}", count)]
    sample = f'requestmetrics_count{{name="RequestsPerSec",request="{text}"}} {count}'
    for found in (*counts_of_mbeans(hostile), *counts_of_samples(sample)):
        assert str(found).isprintable()
        assert len(found.request) <= 60


def test_long_words_are_parsed_in_linear_time() -> None:
    """Long words in samples are parsed in linear time."""
    began = time.process_time()
    for _ in range(20):
        assert counts_of_samples("requestmetrics_count{" + "a" * 4_000 + "} 1\n") == ()
        assert counts_of_mbeans([("a" * 4_096, 1)]) == ()
    assert time.process_time() - began < 2
