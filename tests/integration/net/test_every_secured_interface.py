"""Every client interface of a cluster that requires authentication takes the same settings.

Spark's interfaces are in ``tests/spark/test_secured_interfaces.py``.
"""

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import settings_for
from tests.support.set_producer import Producer
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS
from zkconsumer import KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.cli.main import main
from zkconsumer.clock import SystemClock
from zkconsumer.errors import AuthenticationFailed, ZkConsumerError
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.security import SecuritySettings, read_security
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.certificates import make_certificates

pytestmark = pytest.mark.sandbox

LONG_MS = 20_000
VALUES = [b"%d" % number for number in range(20)]


@pytest.fixture(scope="module")
def scram_of() -> Iterator[Callable[[str], Sandbox]]:
    """Give a function that starts a cluster of a version with TLS and SCRAM."""
    with ExitStack() as running:
        started: dict[str, Sandbox] = {}

        def cluster(version: str) -> Sandbox:
            if version not in started:
                started[version] = running.enter_context(Sandbox(version, security="scram"))
            return started[version]

        yield cluster


@pytest.fixture(
    params=[
        pytest.param("1.1.1", marks=pytest.mark.matrix),
        pytest.param("2.8.2", marks=pytest.mark.matrix),
        "3.9.1",
    ]
)
def secured(scram_of: Callable[[str], Sandbox], request: pytest.FixtureRequest) -> Sandbox:
    """Give a cluster of each version."""
    return scram_of(request.param)


@pytest.fixture
def topic(secured: Sandbox) -> str:
    """Create a topic with ``VALUES``."""
    name = fresh_name("door")
    secured.create_topic(name)
    write(secured, TopicPartition(name, 0), VALUES)
    return name


def given(sandbox: Sandbox) -> dict[str, str]:
    """Return a client's settings, with dotted keys."""
    return {key.replace("_", "."): text for key, text in sandbox.access.settings.items()}


def security(sandbox: Sandbox) -> SecuritySettings:
    """Return the same settings as a value."""
    return read_security(given(sandbox))


def java_properties(sandbox: Sandbox, folder: Path) -> Path:
    """Write the same settings under the names of Kafka's own tools."""
    ours = sandbox.access.settings
    file = folder / "client.properties"
    file.write_text(
        f"""security.protocol=SASL_SSL
ssl.truststore.location={ours["ssl_cafile"]}
ssl.truststore.type=PEM
sasl.mechanism={ours["sasl_mechanism"]}
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="{ours["sasl_plain_username"]}" password="{ours["sasl_plain_password"]}";
"""
    )
    return file


# --- Each interface -------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["zookeeper", "kafka"])
def test_streams(secured: Sandbox, topic: str, storage: str) -> None:
    """A ZooKeeper group finds the secured listener in ZooKeeper; offsets are in either storage."""
    group = fresh_name("g")
    for expected in (VALUES[:12], VALUES[12:]):
        config = settings_for(
            secured,
            group,
            consumer_timeout_ms=LONG_MS,
            offsets_storage=storage,
            **secured.access.settings,
        )
        with ZookeeperConsumerConnector(config) as connector:
            stream = connector.create_message_streams({topic: 1})[topic][0]
            found = [next(stream).value for _ in expected]
            connector.commit_offsets()
        assert found == expected


def test_polls_of_a_zookeeper_group(secured: Sandbox, topic: str) -> None:
    """The poll API works with a group in ZooKeeper."""
    with contextlib.closing(
        KafkaConsumer(
            topic,
            zookeeper_connect=secured.zookeeper_connect,
            group_id=fresh_name("g"),
            auto_offset_reset="earliest",
            consumer_timeout_ms=LONG_MS,
            config=dict(secured.access.settings),
        )
    ) as consumer:
        assert [next(consumer).value for _ in VALUES] == VALUES


def test_polls_and_producers(secured: Sandbox, topic: str) -> None:
    """The poll API reads what the producer wrote."""
    brokers = parse_bootstrap("servers", secured.access.bootstrap_servers)
    client = ClientSettings(client_id="p", timeout_ms=PROMPT_MS, security=security(secured))
    with ExitStack() as opened:
        dialer = dialer_of(client)
        opened.callback(dialer.stop)
        producer = opened.enter_context(contextlib.closing(Producer(brokers, dialer=dialer)))
        producer.send(TopicPartition(topic, 0), [Record(0, None, b"last")])
    with contextlib.closing(
        KafkaConsumer(
            topic,
            bootstrap_servers=secured.access.bootstrap_servers,
            group_id=fresh_name("g"),
            auto_offset_reset="earliest",
            consumer_timeout_ms=LONG_MS,
            config=dict(secured.access.settings),
        )
    ) as consumer:
        assert [next(consumer).value for _ in range(21)] == [*VALUES, b"last"]
        consumer.commit()


def test_tools_and_the_mirror(
    secured: Sandbox, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file of settings, ours or that of Kafka's tools, is enough; with or without ZooKeeper."""
    access, group = secured.access, fresh_name("g")
    source = tmp_path / "source.properties"
    lines = [f"{key}={text}" for key, text in given(secured).items()]
    source.write_text("\n".join([*lines, f"group.id={group}", "client.id=mirror"]))
    mirrored = main(
        [
            *("mirror", "--zookeeper", secured.zookeeper_connect, "--consumer.config", str(source)),
            *("--whitelist", topic, "--topic-prefix", "copy-", "--stop-at-end", "--create-topics"),
            *("--target-bootstrap-servers", access.bootstrap_servers),
            *("--target-config", str(access.command_config)),
        ]
    )
    reported = capsys.readouterr()
    assert mirrored == 0, reported.err
    for where in (
        ["--zookeeper", secured.zookeeper_connect],
        ["--zookeeper", secured.zookeeper_connect, "--bootstrap-server", access.bootstrap_servers],
    ):
        words = ["lag", *where, "--group", group, "--json"]
        assert main([*words, "--command-config", str(access.command_config)]) == 0
        [row] = json.loads(capsys.readouterr().out)["groups"][0]["partitions"]
        assert (row["topic"], row["offset"], row["lag"]) == (topic, len(VALUES), 0)
    words = ["get-offset", "--bootstrap-server", access.bootstrap_servers, "--topic"]
    words += [f"copy-{topic}", "--command-config", str(java_properties(secured, tmp_path))]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [f"copy-{topic}", "0", "20"]


# --- Refused clients ------------------------------------------------------------------------------


def test_a_wrong_password_is_one_clear_line(
    secured: Sandbox, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Streams and polls raise at once, and the password is not logged."""
    wrong = dict(secured.access.settings) | {"sasl_plain_password": "not-the-one"}
    began_ms = SystemClock().now_ms()
    config = settings_for(secured, fresh_name("g"), consumer_timeout_ms=LONG_MS, **wrong)
    with ZookeeperConsumerConnector(config) as connector:
        stream = connector.create_message_streams({topic: 1})[topic][0]
        with pytest.raises(ZkConsumerError, match=r"(?i)authenticat"):
            next(stream)
    with pytest.raises(AuthenticationFailed):
        KafkaConsumer(bootstrap_servers=secured.access.bootstrap_servers, config=wrong)
    assert SystemClock().now_ms() - began_ms < PROMPT_MS
    assert "not-the-one" not in caplog.text


@pytest.mark.parametrize("kind", ["stranger", "name"])
def test_a_certificate_that_is_not_trusted(
    scram_of: Callable[[str], Sandbox], kind: str, tmp_path: Path
) -> None:
    """It is of an unknown authority or of another host, and is refused promptly with the reason."""
    sandbox = scram_of("3.9.1")
    settings, servers = dict(sandbox.access.settings), sandbox.access.bootstrap_servers
    if kind == "stranger":
        settings["ssl_cafile"] = str(make_certificates(tmp_path).authority)
    else:
        servers = servers.replace("localhost", "127.1")  # the same address by another name
    began_ms = SystemClock().now_ms()
    with pytest.raises(AuthenticationFailed, match="is not trusted"):
        KafkaConsumer(bootstrap_servers=servers, config=settings)
    assert SystemClock().now_ms() - began_ms < PROMPT_MS


def test_a_server_that_closes_connections_at_once(scram_of: Callable[[str], Sandbox]) -> None:
    """A port of another protocol may do that: it is an error within the timeout."""
    settings = dict(scram_of("3.9.1").access.settings)
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listening.settimeout(0.1)
        stop: list[bool] = []

        def hang_up() -> None:
            while not stop:
                with contextlib.suppress(TimeoutError):
                    listening.accept()[0].close()

        scope = stack.enter_context(_scope(hang_up, stop))
        del scope
        began_ms = SystemClock().now_ms()
        with pytest.raises(ZkConsumerError, match=r"127\.0\.0\.1:[0-9]+"):
            KafkaConsumer(
                bootstrap_servers=f"127.0.0.1:{listening.getsockname()[1]}",
                bootstrap_timeout_ms=2_000,
                config=settings,
            )
        assert SystemClock().now_ms() - began_ms < PROMPT_MS


@contextlib.contextmanager
def _scope(run: Callable[[], None], stop: list[bool]) -> Iterator[None]:
    from zkconsumer.scope import ThreadScope  # noqa: PLC0415

    scope = ThreadScope("hang up")
    scope.spawn("accept", run, stop=lambda: stop.append(True))
    try:
        yield
    finally:
        assert scope.close(LONG_MS) == []
