"""Reads brokers' counts of requests by version: over JMX, by a Java program, or over HTTP.

JMX uses Java's serialization over RMI, so a small Java program reads it, which a JDK runs from its
source (``RequestMetrics.java``); a filter rejects classes that no such response contains.
"""

import json
import os
import re
import select
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult

from zkconsumer.clock import Clock
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.http_request import http_request
from zkconsumer.printable import printable
from zkconsumer.scope import side_by_side
from zkconsumer.status.doctor.request_counts import (
    RequestMetrics,
    counts_of_mbeans,
    counts_of_samples,
)
from zkconsumer.status.model import BrokerStatus
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.endpoint_brokers import Endpoint, brokers_of

JMX_ADDRESS: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,255}):[0-9]{1,5}")
"""The form of an address, ``HOST:PORT``."""

_JAVA_START_MS: Final = 20_000
"""The time that a JVM and its compiler may take to start on a busy machine."""
_JMX_BYTES: Final = 8 << 20
_HTTP_BYTES: Final = 64 << 20
_AT_ONCE: Final = 8
_SHOWN_CHARS: Final = 200
_JOLOKIA: Final = "/read/kafka.network:name=*RequestsPerSec,type=RequestMetrics,*/Count"
_FILTER: Final = ";".join(
    (
        *("maxdepth=20", "maxarray=20000", "maxrefs=100000", "maxbytes=8000000"),
        *("java.lang.*", "java.lang.reflect.*", "java.util.*", "java.rmi.**", "sun.rmi.**"),
        *("javax.management.**", "javax.rmi.ssl.SslRMIClientSocketFactory"),
        # The error for a wrong password contains these.
        *("javax.security.auth.login.*", "java.security.GeneralSecurityException", "!*"),
    )
)


def registered_jmx(brokers: Sequence[BrokerStatus]) -> dict[str, str]:
    """Return the JMX addresses that brokers have registered, with a name for each."""
    addresses: dict[str, str] = {}
    for status in brokers:
        host = f"[{status.broker.host}]" if ":" in status.broker.host else status.broker.host
        address = f"{host}:{status.jmx_port}"
        if status.jmx_port is not None and JMX_ADDRESS.fullmatch(address):
            addresses[address] = f"broker {status.broker.id} (JMX at {address})"
    return addresses


class Jmx(NamedTuple):
    """The addresses to read over JMX, and the program that reads them.

    Attributes:
        places: the names of brokers, by ``HOST:PORT``.
        java: the path of Java, or why there is none.
        config: a properties file for JMX with a password or TLS; None: neither is used.
    """

    places: Mapping[str, str]
    java: Path | str
    config: str | None = None


def read_request_metrics(
    jmx: Jmx,
    urls: Sequence[SplitResult],
    *,
    brokers: Sequence[BrokerStatus],
    timeout_ms: int,
    clock: Clock,
) -> tuple[RequestMetrics, ...]:
    """Read the request counts of all addresses in parallel.

    Args:
        jmx: the JMX addresses of brokers.
        urls: the addresses of Prometheus exporters, or of Jolokia.
        brokers: the brokers of the cluster, to find the one at each address.
        timeout_ms: the time limit of each address; a JVM has more time, to start.
        clock: for the time limit.

    Returns:
        The counts of each address, or why there are none.
    """
    calls: list[Callable[[], Iterable[RequestMetrics]]] = [
        partial(_by_http, url, timeout_ms, clock) for url in urls
    ]
    places = [Endpoint(url.hostname or "") for url in urls]
    if jmx.places:
        calls.insert(0, lambda: tuple(_by_jmx(jmx, timeout_ms, clock)))
        places = [*map(_jmx_endpoint, jmx.places), *places]
    read = tuple(chain.from_iterable(side_by_side("metrics", calls, threads=_AT_ONCE)))
    owners = brokers_of(places, brokers, timeout_ms=timeout_ms, clock=clock)
    return tuple(
        replace(metrics, broker=owners.get(place))
        for metrics, place in zip(read, places, strict=True)
    )


def _jmx_endpoint(address: str) -> Endpoint:
    host, _, port = address.rpartition(":")
    return Endpoint(host.strip("[]"), int(port))


def _by_http(url: SplitResult, timeout_ms: int, clock: Clock) -> tuple[RequestMetrics]:
    source = f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
    metrics = RequestMetrics(source=source)
    path = url.path.rstrip("/")
    is_jolokia = path.endswith("/jolokia")
    try:
        status, body = http_request(
            url._replace(path=path + _JOLOKIA) if is_jolokia else url,
            headers={"Connection": "close"},
            timeout_ms=timeout_ms,
            max_bytes=_HTTP_BYTES,
            clock=clock,
        )
        if status != 200:
            return (replace(metrics, problem=f"it responded with {status}"),)
        text = body.decode("utf-8", "replace")
        counts = counts_of_mbeans(_of_jolokia(text)) if is_jolokia else counts_of_samples(text)
    except (ConnectFailed, ValueError, RecursionError) as error:
        return (replace(metrics, problem=_shown(str(error))),)
    return (replace(metrics, counts=counts),)


def _of_jolokia(text: str) -> Iterator[tuple[str, Any]]:
    match json.loads(text):
        case {"value": dict(mbeans)}:
            for name, attributes in mbeans.items():
                yield name, attributes.get("Count") if isinstance(attributes, dict) else None
        case {"error": error}:
            raise ValueError(f"Jolokia reports: {error}")
        case _:
            raise ValueError("its response is not that of a Jolokia")


def _by_jmx(jmx: Jmx, timeout_ms: int, clock: Clock) -> Iterator[RequestMetrics]:
    printed: list[str] = []
    lines: dict[str, list[list[str]]] = {address: [] for address in jmx.places}
    if isinstance(jmx.java, str):
        printed.append(jmx.java)
    else:
        for line in _run(jmx.java, list(jmx.places), jmx.config, timeout_ms, clock).splitlines():
            address, *fields = line.split("\t")
            if address in lines and fields:
                lines[address].append(fields)
            elif line.strip():
                printed.append(line)
    for address, name in jmx.places.items():
        yield _of_lines(RequestMetrics(source=name), lines[address], printed, timeout_ms)


def _of_lines(
    metrics: RequestMetrics, lines: list[list[str]], printed: list[str], timeout_ms: int
) -> RequestMetrics:
    last = lines[-1] if lines else [""]
    if last == ["."]:
        mbeans = [(fields[1], fields[0]) for fields in lines if len(fields) == 2]
        return replace(metrics, counts=counts_of_mbeans(mbeans))
    if last[0] == "!":
        problem = last[-1]
    elif printed:
        problem = f"reading JMX needs a JDK of 11 or later: {printed[-1]}"
    else:
        problem = f"no response within {timeout_ms} ms"
    return replace(metrics, problem=_shown(problem))


def _run(
    java: Path, addresses: list[str], config: str | None, timeout_ms: int, clock: Clock
) -> str:
    """Run the program; return its output, within limits of time and size."""
    source = resources.files(__package__).joinpath("RequestMetrics.java")
    # A password must not be in an argument or a variable, which others can see.
    with resources.as_file(source) as file, open(config or os.devnull, "rb") as settings:
        command = [
            *(str(java), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            f"-Djdk.serialFilter={_FILTER}",
            *(f"-Dsun.rmi.transport.tcp.responseTimeout={timeout_ms}", str(file)),
            *(str(timeout_ms), *addresses),
        ]
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own Java
                command,
                # A response that can't be trusted must not load classes of other programs.
                env={key: text for key, text in os.environ.items() if key != "CLASSPATH"},
                stdin=settings,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            return str(error)
        with process:
            assert process.stdout is not None
            try:
                limit = Deadline(clock, timeout_ms + _JAVA_START_MS)
                return _output(process.stdout.fileno(), limit)
            finally:
                process.kill()


def _output(descriptor: int, deadline: Deadline) -> str:
    data = bytearray()
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while len(data) < _JMX_BYTES and ready.poll(deadline.left_ms):
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            break
        data += chunk
    return data.decode("utf-8", "replace")


def _shown(text: str) -> str:
    return printable(text[:_SHOWN_CHARS])
