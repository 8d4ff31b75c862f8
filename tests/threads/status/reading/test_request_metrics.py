"""Request metrics of places that do not answer as they should; real ones are in integration."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from zkconsumer.clock import SystemClock
from zkconsumer.model import Broker
from zkconsumer.scope import ThreadScope
from zkconsumer.status.doctor.request_counts import RequestMetrics
from zkconsumer.status.model import BrokerStatus
from zkconsumer.status.reading.request_metrics import Jmx, read_request_metrics, registered_jmx

BEAN = "kafka.network:name=RequestsPerSec,request=Produce,type=RequestMetrics,version=2"


@contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """An HTTP server that always answers the same; gives its address and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        scope = ThreadScope("metrics", clock=SystemClock())
        scope.spawn(
            "server", lambda: server.serve_forever(poll_interval=0.01), stop=server.shutdown
        )
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            scope.close(5_000)


def read(
    *urls: str,
    jmx: tuple[str, ...] = (),
    java: Path | str = "no Java",
    brokers: Sequence[BrokerStatus] = (),
    timeout_ms: int = 5_000,
) -> list[RequestMetrics]:
    """What these places tell."""
    return list(
        read_request_metrics(
            Jmx({place: f"JMX at {place}" for place in jmx}, java),
            [urlsplit(url) for url in urls],
            brokers=brokers,
            timeout_ms=timeout_ms,
            clock=SystemClock(),
        )
    )


def test_jolokia() -> None:
    """It is asked for these MBeans alone."""
    body = json.dumps({"status": 200, "value": {BEAN: {"Count": 3}}}).encode()
    with serving(body) as (url, asked):
        (found,) = read(url + "/jolokia")
    assert [str(count) for count in found.refused()] == [
        "Produce version 2, 3 times, by an unnamed client library"
    ]
    assert asked == ["/jolokia/read/kafka.network:name=*RequestsPerSec,type=RequestMetrics,*/Count"]


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"[" * 50_000, 200, ""),
        (
            b'{"error": "javax.management\\u001b[31m"}',
            200,
            "Jolokia reports: javax.management\\x1b",
        ),
        (b'{"value": 7}', 200, "its response is not that of a Jolokia"),
        (b"\xff", 200, ""),
        (b"", 403, "it responded with 403"),
    ],
)
def test_strange_answers_are_a_problem(body: bytes, status: int, problem: str) -> None:
    """Said in a line, however they look."""
    with serving(body, status) as (url, _):
        (found,) = read(url + "/jolokia")
    assert found.problem is not None
    assert found.problem.startswith(problem)
    assert found.problem.isprintable()
    assert len(found.problem) < 1_000


def test_two_addresses_of_a_broker_are_its() -> None:
    """An exporter and Jolokia of one host; a name and an address of it."""
    body = json.dumps({"value": {BEAN: {"Count": 3}}}).encode()
    with serving(body) as (url, _), serving(b"") as (other, _):
        by_name = url.replace("127.0.0.1", "localhost")
        brokers = [
            BrokerStatus(broker=Broker(number, host, 9092), seen_ms=0)
            for number, host in enumerate(["127.0.0.2", "localhost"])
        ]
        found = read(url + "/jolokia", by_name + "/jolokia", other + "/metrics", brokers=brokers)
    assert [metrics.broker for metrics in found] == [1, 1, 1]


def test_nobody_there_is_a_problem_without_its_password() -> None:
    """Nothing is listening at port 1."""
    (found,) = read("http://127.0.0.1:1/metrics")
    assert "Connection refused" in str(found.problem)


def java(folder: Path, program: str) -> Path:
    """A program that is called as Java is."""
    file = folder / "java"
    file.write_text(f"#!{sys.executable}\nimport sys, time\n{program}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (
            "print('error: no jdk.compiler')",
            "reading JMX needs a JDK of 11 or later: error: no jdk",
        ),
        ("print('b:1\\t!\\tConnectException: refused')", "ConnectException: refused"),
        ("print('b:1\\t5\\tkafka.network:name=RequestsPerSec')", "no response within 5000 ms"),
        ("", "no response within 5000 ms"),
        ("print('b:1\\t' + 'x' * (9 << 20)); time.sleep(60)", "no response within 5000 ms"),
    ],
)
def test_a_java_that_can_t_read_is_a_problem(tmp_path: Path, program: str, problem: str) -> None:
    """Also one that says half of it, or too much."""
    (found,) = read(jmx=("b:1",), java=java(tmp_path, program))
    assert str(found.problem).startswith(problem)
    assert found.counts == ()


def test_it_has_no_class_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even that of who asks, which may have all of Kafka and Hadoop."""
    monkeypatch.setenv("CLASSPATH", "/opt/kafka/libs/all.jar")
    program = java(tmp_path, "import os; print(os.environ.get('CLASSPATH', 'none'))")
    (found,) = read(jmx=("b:1",), java=program)
    assert found.problem == "reading JMX needs a JDK of 11 or later: none"


def test_no_java_is_said_of_each_place() -> None:
    """Nothing is started."""
    assert [found.problem for found in read(jmx=("a:1", "b:1"), java="none on PATH")] == [
        "reading JMX needs a JDK of 11 or later: none on PATH"
    ] * 2


def test_registered_places() -> None:
    """Those that have one, and could be a host."""

    def status(number: int, host: str, port: int | None) -> BrokerStatus:
        return BrokerStatus(broker=Broker(number, host, 9092), seen_ms=0, jmx_port=port)

    brokers = [status(0, "h", 9999), status(1, "::1", 9), status(2, "h", None), status(3, "/x?", 9)]
    assert registered_jmx(brokers) == {
        "h:9999": "broker 0 (JMX at h:9999)",
        "[::1]:9": "broker 1 (JMX at [::1]:9)",
    }
