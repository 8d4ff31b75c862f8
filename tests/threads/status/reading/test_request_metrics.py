"""Request metrics of endpoints that misbehave; real ones are tested in integration."""

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
    """Run an HTTP server with one response; yield its address and the requested paths."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        scope = ThreadScope("metrics", clock=SystemClock())
        scope.spawn(
            "server", lambda: server.serve_forever(poll_interval=0.01), stop=server.shutdown
        )
        try:
            yield f"http://127.0.0.1:{server.server_port}", paths
        finally:
            scope.close(5_000)


def read(
    *urls: str,
    jmx: tuple[str, ...] = (),
    java: Path | str = "no Java",
    brokers: Sequence[BrokerStatus] = (),
    timeout_ms: int = 5_000,
) -> list[RequestMetrics]:
    """Read the request metrics of these endpoints."""
    return list(
        read_request_metrics(
            Jmx({place: f"JMX at {place}" for place in jmx}, java),
            [urlsplit(url) for url in urls],
            brokers=brokers,
            timeout_ms=timeout_ms,
            clock=SystemClock(),
        )
    )


def test_jolokia_is_asked_for_request_counters_only() -> None:
    """The path names these MBeans."""
    body = json.dumps({"status": 200, "value": {BEAN: {"Count": 3}}}).encode()
    with serving(body) as (url, paths):
        (found,) = read(url + "/jolokia")
    assert [str(count) for count in found.refused()] == [
        "Produce version 2, 3 times, by an unnamed client library"
    ]
    assert paths == ["/jolokia/read/kafka.network:name=*RequestsPerSec,type=RequestMetrics,*/Count"]


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
def test_malformed_responses_are_a_problem(body: bytes, status: int, problem: str) -> None:
    """The problem is one printable line, whatever the response."""
    with serving(body, status) as (url, _):
        (found,) = read(url + "/jolokia")
    assert found.problem is not None
    assert found.problem.startswith(problem)
    assert found.problem.isprintable()
    assert len(found.problem) < 1_000


def test_several_endpoints_belong_to_one_broker() -> None:
    """An exporter and Jolokia are on one host, which has a name and an address."""
    body = json.dumps({"value": {BEAN: {"Count": 3}}}).encode()
    with serving(body) as (url, _), serving(b"") as (other, _):
        by_name = url.replace("127.0.0.1", "localhost")
        brokers = [
            BrokerStatus(broker=Broker(number, host, 9092), seen_ms=0)
            for number, host in enumerate(["127.0.0.2", "localhost"])
        ]
        found = read(url + "/jolokia", by_name + "/jolokia", other + "/metrics", brokers=brokers)
    assert [metrics.broker for metrics in found] == [1, 1, 1]


def test_an_endpoint_that_refuses_connections_is_a_problem() -> None:
    """Nothing listens at port 1."""
    (found,) = read("http://127.0.0.1:1/metrics")
    assert "Connection refused" in str(found.problem)


def java(folder: Path, program: str) -> Path:
    """Write a program that is called in place of Java."""
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
def test_a_failing_java_is_a_problem(tmp_path: Path, program: str, problem: str) -> None:
    """So is one that prints half of the output, or too much."""
    (found,) = read(jmx=("b:1",), java=java(tmp_path, program))
    assert str(found.problem).startswith(problem)
    assert found.counts == ()


def test_java_is_started_without_a_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller's may contain all of Kafka and Hadoop."""
    monkeypatch.setenv("CLASSPATH", "/opt/kafka/libs/all.jar")
    program = java(tmp_path, "import os; print(os.environ.get('CLASSPATH', 'none'))")
    (found,) = read(jmx=("b:1",), java=program)
    assert found.problem == "reading JMX needs a JDK of 11 or later: none"


def test_a_missing_java_is_a_problem_of_each_endpoint() -> None:
    """No process is started."""
    assert [found.problem for found in read(jmx=("a:1", "b:1"), java="none on PATH")] == [
        "reading JMX needs a JDK of 11 or later: none on PATH"
    ] * 2


def test_registered_jmx_endpoints() -> None:
    """They are of brokers that register a JMX port and a valid host."""

    def status(number: int, host: str, port: int | None) -> BrokerStatus:
        return BrokerStatus(broker=Broker(number, host, 9092), seen_ms=0, jmx_port=port)

    brokers = [status(0, "h", 9999), status(1, "::1", 9), status(2, "h", None), status(3, "/x?", 9)]
    assert registered_jmx(brokers) == {
        "h:9999": "broker 0 (JMX at h:9999)",
        "[::1]:9": "broker 1 (JMX at [::1]:9)",
    }
