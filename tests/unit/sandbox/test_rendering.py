"""The property files and command lines of the sandbox's servers."""

from pathlib import Path

import pytest

from zkconsumer.sandbox.rendering import (
    BrokerLayout,
    broker_properties,
    java_command,
    log4j_properties,
    render_properties,
    zookeeper_properties,
)
from zkconsumer.sandbox.versions import VERSIONS


def layout(**changes: object) -> BrokerLayout:
    """Return the layout of a broker in a cluster of three."""
    fields: dict[str, object] = {
        "id": 1,
        "port": 9093,
        "listen_host": "127.0.0.1",
        "log_dir": Path("/data"),
        "zookeeper_connect": "127.0.0.1:2181/kafka",
        "cluster_size": 3,
        "auto_create_topics": False,
    }
    return BrokerLayout(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["0.8.0", "0.8.1.1", "0.8.2.2"])
def test_old_brokers_get_host_and_port(name: str) -> None:
    """Before 0.9 a broker gets its address in two settings."""
    properties = broker_properties(VERSIONS[name], layout(), {})
    assert properties["host.name"] == "127.0.0.1"
    assert properties["port"] == "9093"
    assert "listeners" not in properties


@pytest.mark.parametrize("name", list(VERSIONS)[3:])
def test_newer_brokers_get_a_listener(name: str) -> None:
    """From 0.9 on a broker gets its address as one URL."""
    properties = broker_properties(VERSIONS[name], layout(), {})
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert "host.name" not in properties


def test_the_offsets_topic_fits_the_cluster() -> None:
    """The offsets topic is replicated to all brokers, at most three; 0.8.1 has no such topic."""
    newest, old = VERSIONS["3.9.1"], VERSIONS["0.8.1.1"]
    key = "offsets.topic.replication.factor"
    assert broker_properties(newest, layout(cluster_size=1), {})[key] == "1"
    assert broker_properties(newest, layout(cluster_size=5), {})[key] == "3"
    assert key not in broker_properties(old, layout(), {})


def test_own_settings_win() -> None:
    """A caller's setting replaces the sandbox's."""
    properties = broker_properties(VERSIONS["0.8.2.2"], layout(), {"num.io.threads": "1", "x": "y"})
    assert properties["num.io.threads"] == "1"
    assert properties["x"] == "y"


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("0.8.2.2", "advertised.host.name", "127.0.0.1"),
        ("2.8.2", "advertised.listeners", "PLAINTEXT://127.0.0.1:9093"),
    ],
)
def test_a_broker_that_listens_everywhere_still_registers_loopback(
    name: str, key: str, value: str
) -> None:
    """A broker on all addresses advertises one that clients can reach, not ``0.0.0.0``."""
    properties = broker_properties(VERSIONS[name], layout(listen_host="0.0.0.0"), {})
    assert properties[key] == value


def test_zookeeper_takes_short_sessions_and_any_number_of_clients() -> None:
    """ZooKeeper gets the caller's tick time, and does not limit connections from one address."""
    properties = zookeeper_properties(
        VERSIONS["0.8.2.2"], port=2181, listen_host="127.0.0.1", data_dir=Path("/d"), tick_ms=100
    )
    assert properties["tickTime"] == "100"
    assert properties["maxClientCnxns"] == "0"
    assert properties["clientPortAddress"] == "127.0.0.1"
    assert "admin.enableServer" not in properties


def test_zookeeper_of_newer_releases_opens_no_second_port() -> None:
    """ZooKeeper's admin server, new in 3.5, is disabled: it would take port 8080."""
    properties = zookeeper_properties(
        VERSIONS["3.9.1"], port=2181, listen_host="127.0.0.1", data_dir=Path("/d"), tick_ms=500
    )
    assert properties["admin.enableServer"] == "false"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "plain"),
        ("back\\slash", "back\\\\slash"),
        ("two\nlines", "two\\nlines"),
        (" leading", "\\ leading"),
        ("é", "\\u00e9"),
        ("\U0001f600", "\\ud83d\\ude00"),
    ],
)
def test_values_are_escaped_as_java_reads_them(value: str, written: str) -> None:
    """Values are escaped so that Java's property reader returns them unchanged."""
    assert render_properties({"key": value}) == f"key={written}\n"


def test_log_files_are_bounded() -> None:
    """Log files have a maximum size, so that a server in trouble can't fill the disk."""
    properties = log4j_properties(Path("/log"))
    assert properties["log4j.appender.file.File"] == "/log"
    assert properties["log4j.appender.file.MaxFileSize"] == "16MB"


def test_the_command_line_carries_heap_flags_and_class_path() -> None:
    """A version's own JVM flags come before the class path."""
    command = java_command(
        Path("/java"),
        VERSIONS["0.10.2.2"],
        [Path("/a.jar"), Path("/b.jar")],
        log4j=Path("/log4j.properties"),
        heap_mb=128,
    )
    assert command[:2] == ["/java", "-Xmx128m"]
    assert "-Dlog4j.configuration=file:///log4j.properties" in command
    assert "-Djava.specification.version=1.8" in command
    assert command[-2:] == ["-cp", "/a.jar:/b.jar"]
