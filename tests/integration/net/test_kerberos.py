"""Kerberos with a real KDC and real brokers: who is authenticated, how long, and the errors."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

from tests.interop.version_matrix import POLL_FEATURES, Cell
from tests.support.clusters import fresh_name
from tests.support.matrix import in_matrix
from tests.support.members import settings_for
from tests.support.mirrors import numbered, write_all
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer import KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.cli.main import main
from zkconsumer.clock import SystemClock
from zkconsumer.errors import AuthenticationFailed, NoBrokersAvailable
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.gssapi import KerberosLogin
from zkconsumer.net.kerberos import KerberosSettings, read_keytab
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kdc import CLIENT_PRINCIPAL, krb5_conf
from zkconsumer.sandbox.ports import LOOPBACK, pick_free

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        os.environ.get("ZKCONSUMER_PURE", "0") not in {"", "0"} and find_spec("gssapi") is None,
        reason="the gssapi package is compiled, and this is an installation in pure Python",
    ),
]

LONG_MS = 20_000
REAUTHENTICATED_MS = 1_500
"""After what time a 3.9.1 broker requires reauthentication; it refuses two within a second."""

TICKET_S = 3

KerberosOf = Callable[[str], Sandbox]


@pytest.fixture(scope="module")
def kerberos_of() -> Iterator[KerberosOf]:
    """Give a function that starts a cluster of a version with a KDC."""
    with ExitStack() as running:
        started: dict[str, Sandbox] = {}

        def cluster(version: str) -> Sandbox:
            if version not in started:
                key = "listener.name.sasl_plaintext.gssapi.connections.max.reauth.ms"
                ends = {key: str(REAUTHENTICATED_MS)} if version == "3.9.1" else {}
                sandbox = Sandbox(version, security="kerberos", broker_properties=ends)
                started[version] = running.enter_context(sandbox)
            return started[version]

        yield cluster


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Sandbox], None]:
    """Give a function that points the process at a cluster's KDC, but at no tickets or keys."""

    def use_kdc(sandbox: Sandbox) -> None:
        monkeypatch.setenv("KRB5_CONFIG", sandbox.access.environment["KRB5_CONFIG"])
        monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
        monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{tmp_path / 'no-keytab'}")

    return use_kdc


UseKdc = Callable[[Sandbox], None]


@contextlib.contextmanager
def consumer(sandbox: Sandbox, *topics: str, **changed: object) -> Iterator[KafkaConsumer]:
    """Open a member of a group of its own, with a client's settings and changes to them."""
    settings = {
        "group_id": fresh_name("group"),
        "auto_offset_reset": "earliest",
        "consumer_timeout_ms": LONG_MS,
        **sandbox.access.settings,
        **changed,
    }
    made = KafkaConsumer(
        *topics, bootstrap_servers=sandbox.access.bootstrap_servers, config=settings
    )
    try:
        yield made
    finally:
        made.close()


def dialer(sandbox: Sandbox) -> BrokerDialer:
    """Create a dialer that authenticates with Kerberos."""
    given = sandbox.access.settings
    login = KerberosLogin(
        KerberosSettings(
            keytab=given["sasl_kerberos_keytab"], principal=given["sasl_kerberos_principal"]
        )
    )
    return BrokerDialer(
        TcpConnector(),
        client_id="test",
        security=SecuritySettings(
            protocol="SASL_PLAINTEXT",
            sasl_mechanism="GSSAPI",
            kerberos=login.conversation_with,
        ),
        connect_timeout_ms=LONG_MS,
        request_timeout_ms=LONG_MS,
    )


def secured(sandbox: Sandbox) -> Broker:
    """Return its broker, at the listener with Kerberos."""
    host, _, port = sandbox.access.bootstrap_servers.partition(":")
    return Broker(-1, host, int(port))


CELLS = POLL_FEATURES["kerberos"].cells


@in_matrix(
    "version",
    [cell for cell in CELLS if CELLS[cell] is Cell.YES],
    ["0.9.0.1", "0.10.2.2", "3.9.1"],
)
def test_a_producer_and_a_group(kerberos_of: KerberosOf, environ: UseKdc, version: str) -> None:
    """Tokens are sent without a handshake (0.9), raw after one (0.10), or in requests (1.0)."""
    sandbox, topic = kerberos_of(version), fresh_name("tickets")
    environ(sandbox)
    sandbox.create_topic(topic)
    tp = TopicPartition(topic, 0)
    with contextlib.closing(BatchProducer([secured(sandbox)], dialer=dialer(sandbox))) as producer:
        producer.write({tp: [Record(0, b"k", b"%d" % number) for number in range(100)]})
    read: list[bytes] = []
    with consumer(sandbox, topic) as member:
        for record in member:
            read.append(record.value)
            if len(read) == 100:
                break
        member.commit()
        assert member.committed(tp) == 100
    assert read == [b"%d" % number for number in range(100)]


@pytest.mark.parametrize("version", ["0.9.0.1", "0.10.2.2", "3.9.1"])
def test_streams_of_a_zookeeper_group(
    kerberos_of: KerberosOf, environ: UseKdc, version: str
) -> None:
    """They find the Kerberos listener in ZooKeeper; offsets in Kafka use it, too."""
    sandbox, topic, group = kerberos_of(version), fresh_name("tickets"), fresh_name("group")
    environ(sandbox)
    sandbox.create_topic(topic)
    write(sandbox, TopicPartition(topic, 0), [b"%d" % number for number in range(9)])
    for expected in (range(5), range(5, 9)):
        config = settings_for(
            sandbox,
            group,
            consumer_timeout_ms=LONG_MS,
            offsets_storage="kafka",
            **sandbox.access.settings,
        )
        with ZookeeperConsumerConnector(config) as connector:
            stream = connector.create_message_streams({topic: 1})[topic][0]
            assert [next(stream).value for _ in expected] == [b"%d" % number for number in expected]
            connector.commit_offsets()


def test_kafkas_own_tool_is_authenticated_by_the_sandboxs_files(kerberos_of: KerberosOf) -> None:
    """In 0.9 a properties file can't name a keytab, so JVM flags do."""
    sandbox, topic = kerberos_of("0.9.0.1"), fresh_name("tickets")
    sandbox.create_topic(topic)
    write(sandbox, TopicPartition(topic, 0), [b"one"])
    access = sandbox.access
    arguments = (
        *("--new-consumer", "--bootstrap-server", access.bootstrap_servers, "--topic", topic),
        *("--consumer.config", str(access.tool_config), "--from-beginning", "--max-messages", "1"),
    )
    tool = "kafka.tools.ConsoleConsumer"
    with sandbox.scala_tool(tool, *arguments, flags=access.jvm_flags) as running:
        running.wait_for_line(lambda line: line == "one", timeout_ms=LONG_MS, what="the record")


@pytest.mark.parametrize("version", ["0.10.2.2", "3.9.1"])
def test_lag_is_read_with_the_sandboxs_files(
    kerberos_of: KerberosOf, environ: UseKdc, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leaders are asked at the Kerberos listener."""
    sandbox, topic, group = kerberos_of(version), fresh_name("tickets"), fresh_name("group")
    environ(sandbox)
    sandbox.create_topic(topic)
    tp = TopicPartition(topic, 0)
    write(sandbox, tp, [b"v"] * 9)
    ZkTree(sandbox).put(offset_path(group, tp), b"7")
    access = sandbox.access
    where = ("--zookeeper", sandbox.zookeeper_connect, "--bootstrap-servers")
    config = (access.bootstrap_servers, "--command-config", str(access.command_config))
    assert main(["lag", *where, *config, "--group", group, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["groups"][0]["partitions"]
    assert (row["offset"], row["log_end"], row["lag"]) == (7, 9, 2)


def test_a_mirror_into_a_cluster_with_kerberos(
    kerberos_of: KerberosOf, environ: UseKdc, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--target-config`` has the settings, for the mirror and for its proof."""
    source, target = kerberos_of("0.10.2.2"), kerberos_of("3.9.1")
    environ(target)
    topic = fresh_name("mirrored")
    tp = TopicPartition(topic, 0)
    source.create_topic(topic)
    write_all(source.brokers, {tp: numbered(tp, 100)})
    common = (
        *("--zookeeper", source.zookeeper_connect, "--group", fresh_name("group"), "--json"),
        *("--offsets-file", str(tmp_path / "offsets")),
        *("--target-config", str(target.access.command_config)),
        *("--target-bootstrap-servers", target.access.bootstrap_servers),
    )
    assert main(("mirror", *common, "--whitelist", topic, "--create-topics", "--stop-at-end")) == 0
    capsys.readouterr()
    assert main(("mirror", "verify", *common)) == 0
    assert json.loads(capsys.readouterr().out)["proven"]


def with_lifetime(config: str, seconds: int) -> str:
    """Return a ``krb5.conf`` whose tickets live for a given time."""
    return config.replace("[realms]", f"    ticket_lifetime = {seconds}s\n[realms]")


def test_a_consumer_outlives_its_tickets(
    kerberos_of: KerberosOf,
    environ: UseKdc,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The broker requires reauthentication (KIP-368), which succeeds with a new ticket."""
    sandbox, topic = kerberos_of("3.9.1"), fresh_name("tickets")
    environ(sandbox)
    sandbox.create_topic(topic)
    config = tmp_path / "krb5.conf"
    config.write_text(with_lifetime(krb5_conf(sandbox.kdc.port), TICKET_S))
    monkeypatch.setenv("KRB5_CONFIG", str(config))
    gone: list[int] = []
    acquired = KerberosLogin._acquired

    def record_and_acquire(self: KerberosLogin, store: dict[str, str]) -> object:
        gone.append(clock.now_ms())
        return acquired(self, store)

    clock = SystemClock()
    monkeypatch.setattr(KerberosLogin, "_acquired", record_and_acquire)
    tp, read = TopicPartition(topic, 0), list[bytes]()
    with consumer(sandbox, topic) as member:

        def read_one_more() -> None:
            sent = len(read) + 1
            write(sandbox, tp, [b"%d" % len(read)])
            while len(read) < sent:
                read.extend(record.value for record in member.poll(timeout_ms=LONG_MS).get(tp, []))
            member.commit()

        # Until the broker has required reauthentication after the end of the first ticket.
        over_ms = gone[0] + TICKET_S * 1000 + 2 * REAUTHENTICATED_MS
        while clock.now_ms() < over_ms:
            read_one_more()
    assert read == [b"%d" % number for number in range(len(read))]
    assert len(gone) >= 2


@dataclass(frozen=True)
class TicketRefusal:
    """A client that gets no ticket, and its error."""

    reported: str
    changed: dict[str, object]
    prepare: Callable[[Sandbox, Path], dict[str, str]] = lambda _sandbox, _folder: {}
    error: type[Exception] = AuthenticationFailed


def _wrong_key(sandbox: Sandbox, folder: Path) -> dict[str, str]:
    data = bytearray(sandbox.kdc.client_keytab.read_bytes())
    at = 2
    for entry in read_keytab(bytes(data)):
        at += len(entry.record)
        data[at - 8] ^= 0xFF  # within its key, even if a key version number of four bytes follows
    (folder / "wrong.keytab").write_bytes(data)
    return {}


def _expired(sandbox: Sandbox, folder: Path) -> dict[str, str]:
    import gssapi  # noqa: PLC0415 - what kinit does

    config = folder / "krb5.conf"
    config.write_text(with_lifetime(krb5_conf(sandbox.kdc.port), 1))
    cache = f"FILE:{folder / 'expired'}"
    os.environ["KRB5_CONFIG"] = str(config)  # the fixture puts it back
    name = gssapi.Name(CLIENT_PRINCIPAL, gssapi.NameType.kerberos_principal)
    store: dict[bytes | str, bytes | str] = {
        "client_keytab": f"FILE:{sandbox.kdc.client_keytab}",
        "ccache": cache,
    }
    made = gssapi.Credentials(usage="initiate", name=name, store=store)
    # Reading the lifetime acquires the ticket, which may expire at once on a busy machine.
    with suppress(gssapi.exceptions.ExpiredCredentialsError):
        assert made.lifetime is not None

    def is_over() -> bool:
        try:
            left: int = gssapi.Credentials(usage="initiate", store={"ccache": cache}).lifetime
        except gssapi.exceptions.ExpiredCredentialsError:
            return True
        return left <= 0

    wait_until(is_over, timeout_s=10, what="the end of the ticket")
    return {"KRB5CCNAME": cache}


def _no_kdc(_sandbox: Sandbox, folder: Path) -> dict[str, str]:
    config = folder / "krb5.conf"
    config.write_text(krb5_conf(pick_free(set())))
    return {"KRB5_CONFIG": str(config)}


NO_KEYTAB: dict[str, object] = {"sasl_kerberos_keytab": None, "sasl_kerberos_principal": None}
REFUSALS = {
    "no-ticket": TicketRefusal(
        r"no Kerberos ticket.*run kinit, or set sasl_kerberos_keytab", NO_KEYTAB
    ),
    "expired": TicketRefusal(r"expired.*run kinit", NO_KEYTAB, _expired),
    "wrong-key": TicketRefusal(
        r"rejects the key of sasl_kerberos_keytab=.*wrong.keytab",
        {"sasl_kerberos_keytab": "wrong.keytab"},
        _wrong_key,
    ),
    "unknown-service": TicketRefusal(
        r"no ticket for other@localhost: .*not found.*sasl_kerberos_service_name",
        {"sasl_kerberos_service_name": "other"},
    ),
    "no-kdc": TicketRefusal(
        r"no Kerberos ticket: Cannot contact any KDC.*krb5.conf",
        {"bootstrap_timeout_ms": 1_000},  # a KDC may come back
        _no_kdc,
        NoBrokersAvailable,
    ),
    "another-mechanism": TicketRefusal(
        r"the broker supports GSSAPI .sasl_mechanism",
        {
            **NO_KEYTAB,
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "u",
            "sasl_plain_password": "s3cret",
        },
    ),
}


# Without a ticket no broker is reached, so one version is enough.
@in_matrix(
    ("version", "case"),
    product(["0.10.2.2", "3.9.1"], REFUSALS),
    [*product(["3.9.1"], REFUSALS), ("0.10.2.2", "another-mechanism")],
)
def test_a_client_without_a_ticket_gets_the_reason(
    kerberos_of: KerberosOf,
    environ: UseKdc,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    version: str,
    case: str,
) -> None:
    """The constructor raises at once, in one line that names the remedy."""
    sandbox, refusal = kerberos_of(version), REFUSALS[case]
    environ(sandbox)
    changed = dict(refusal.changed)
    if isinstance(keytab := changed.get("sasl_kerberos_keytab"), str):
        changed["sasl_kerberos_keytab"] = str(tmp_path / keytab)
    for name, value in refusal.prepare(sandbox, tmp_path).items():
        monkeypatch.setenv(name, value)
    settings = {**sandbox.access.settings, **changed}
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(refusal.error, match=refusal.reported) as caught:
        KafkaConsumer("any", bootstrap_servers=sandbox.access.bootstrap_servers, config=settings)
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_broker_of_0_9_under_another_host_name_is_refused(
    kerberos_of: KerberosOf, environ: UseKdc
) -> None:
    """The KDC does not know that host: the error comes before any byte of a ticket is sent."""
    sandbox = kerberos_of("0.9.0.1")
    environ(sandbox)
    at = secured(sandbox)
    with pytest.raises(AuthenticationFailed, match=r"no ticket for kafka@127.0.0.1"):
        dialer(sandbox).dial(Broker(-1, LOOPBACK, at.port))
