"""A real ZooKeeper with authentication, and one with TLS."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import Certificates, certificates
from tests.support.clusters import fresh_name
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer import ConsumerConfig, KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.cli.main import main
from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.errors import ConfigError, RebalanceFailed, RegistryError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import LOOPBACK, pick_free
from zkconsumer.sandbox.secured import STORE_PASSWORD
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.store import CreateOp, OpError, SetOp, ZkStore

__all__ = ["certificates"]

pytestmark = pytest.mark.sandbox

PASSWORD = "digest-secret-1"
SASL = ZookeeperSecurity(scheme="sasl", username="reader", password=PASSWORD, set_acl=True)
DIGEST = ZookeeperSecurity(scheme="digest", username="reader", password=PASSWORD, set_acl=True)

_JAAS = f"""
Server {{
  org.apache.zookeeper.server.auth.DigestLoginModule required user_reader="{PASSWORD}";
}};
"""


@dataclass(frozen=True, slots=True)
class Secured:
    """A cluster whose ZooKeeper has the user ``reader``; ``tls_port``: its TLS port, 0 for none."""

    sandbox: Sandbox
    tls_port: int

    @property
    def zookeeper_connect(self) -> str:
        """Its address with the chroot."""
        return self.sandbox.zookeeper_connect

    @property
    def over_tls(self) -> str:
        """The same with the TLS port."""
        return f"{LOOPBACK}:{self.tls_port}/{self.zookeeper_connect.partition('/')[2]}"


@pytest.fixture(scope="module", params=["0.10.2.2", "2.8.2"])
def secured(
    request: pytest.FixtureRequest,
    certificates: Certificates,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Secured]:
    """Start ZooKeeper 3.4, which has no TLS, and 3.5."""
    version: str = request.param
    jaas = tmp_path_factory.mktemp("jaas") / "server.conf"
    jaas.write_text(_JAAS)
    flags = [f"-Djava.security.auth.login.config={jaas}"]
    properties = {
        "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    }
    tls_port = 0
    if version == "2.8.2":
        tls_port = pick_free(set())
        properties["secureClientPort"] = str(tls_port)
        reported = {
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": str(certificates.broker_keys),
            "ssl.keyStore.password": STORE_PASSWORD,
            "ssl.trustStore.location": str(certificates.broker_trust),
            "ssl.trustStore.password": STORE_PASSWORD,
            "ssl.clientAuth": "need",
        }
        flags += [f"-Dzookeeper.{key}={value}" for key, value in reported.items()]
    with Sandbox(
        kafka=version, brokers=1, zookeeper_properties=properties, zookeeper_jvm_flags=flags
    ) as sandbox:
        yield Secured(sandbox, tls_port)


def opened(where: str, security: ZookeeperSecurity) -> ZkStore:
    """Open a client that authenticates."""
    return connect(where, session_timeout_ms=6_000, connection_timeout_ms=6_000, security=security)


@pytest.mark.parametrize("security", [SASL, DIGEST], ids=["sasl", "digest"])
def test_only_its_creator_may_change_a_node_and_all_may_read_it(
    secured: Secured, security: ZookeeperSecurity
) -> None:
    """This holds for single and transactional creates; ``/consumers`` stays open to all."""
    group = fresh_name("acl")
    mine = opened(secured.zookeeper_connect, security)
    stranger = opened(secured.zookeeper_connect, OPEN)
    try:
        mine.ensure_paths([f"/consumers/{group}/offsets"])
        assert mine.multi([CreateOp(f"/consumers/{group}/offsets/t", b"7")]).ok
        for path in (f"/consumers/{group}/offsets", f"/consumers/{group}/offsets/t"):
            assert stranger.get_many([path])[0] is not None
            assert stranger.write_many([SetOp(path, b"8")]) == [OpError.ACCESS_DENIED]
            assert mine.write_many([SetOp(path, b"9")]) == [None]
        others = fresh_name("other")
        assert stranger.write_many([CreateOp(f"/consumers/{others}", b"")]) == [None]
    finally:
        mine.close()
        stranger.close()


def test_a_wrong_password_is_one_clear_error(secured: Secured) -> None:
    """It is neither a timeout nor an error of kazoo's."""
    wrong = ZookeeperSecurity(scheme="sasl", username="reader", password="guess", set_acl=True)
    with pytest.raises(RegistryError, match=r"the authentication as reader .*check zookee"):
        opened(secured.zookeeper_connect, wrong)


@pytest.mark.parametrize("scheme", ["sasl", "digest"])
def test_a_members_nodes_cannot_be_changed_by_others(
    secured: Secured, scheme: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Streams, polls and tools authenticate; without it, the error has path and settings."""
    topic, group = fresh_name("secured"), fresh_name("group")
    secured.sandbox.create_topic(topic)
    write(secured.sandbox, TopicPartition(topic, 0), [b"one", b"two", b"three"])
    access: dict[str, Any] = {
        "zookeeper.auth.scheme": scheme,
        "zookeeper.auth.username": "reader",
        "zookeeper.auth.password": PASSWORD,
    }
    where = {"zookeeper.connect": secured.zookeeper_connect, "group.id": group}
    config = ConsumerConfig({**where, **access, "auto.offset.reset": "smallest"})
    with ZookeeperConsumerConnector(config) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        assert [next(iter(stream)).value for _ in range(3)] == [b"one", b"two", b"three"]
    with KafkaConsumer(topic, config={**where, **access}, auto_offset_reset="earliest") as polled:
        tp = TopicPartition(topic, 0)
        # The stream was closed while its last message was being processed, so that comes again.
        again = wait_until(lambda: polled.poll(100), what="the last message")
        assert [record.value for record in again[tp]] == [b"three"]
        assert polled.position(tp) == 3
        polled.seek(tp, 1)
        polled.commit()
    settings = tmp_path / "access.properties"
    settings.write_text("".join(f"{key}={value}\n" for key, value in access.items()))
    lag = ["lag", "--zookeeper", secured.zookeeper_connect, "--group", group, "--json"]
    assert main([*lag, "--command-config", str(settings)]) == 0
    assert json.loads(capsys.readouterr().out)
    reported = rf"/consumers/{group}/ids/.* access denied .*zookeeper\.auth\.scheme"
    with (
        ZookeeperConsumerConnector(ConsumerConfig(where)) as stranger,
        pytest.raises(RebalanceFailed, match=reported),
    ):
        stranger.create_message_streams({topic: 1})


def test_over_tls(secured: Secured, certificates: Certificates) -> None:
    """Our certificate is accepted; an untrusted one of theirs is a clear error."""
    if not secured.tls_port:
        with pytest.raises(RegistryError, match="secureClientPort"):
            opened(
                secured.zookeeper_connect,
                ZookeeperSecurity(tls=True, cafile=str(certificates.authority)),
            )
        return
    good = ZookeeperSecurity(
        tls=True,
        cafile=str(certificates.authority),
        certfile=str(certificates.client),
    )
    store = opened(secured.over_tls, good)
    try:
        paths = [f"/{fresh_name('many')}" for _ in range(300)]
        store.write_many([CreateOp(path, path.encode() * 50) for path in paths])
        found = store.get_many(paths)
        assert [znode.data for znode in found if znode] == [path.encode() * 50 for path in paths]
    finally:
        store.close()
    unknown = ZookeeperSecurity(tls=True, cafile=str(certificates.stranger))
    with pytest.raises(RegistryError, match="its certificate is not trusted"):
        opened(secured.over_tls, unknown)


def test_invalid_settings_are_refused_before_anything_connects(tmp_path: Path) -> None:
    """Each error names its setting."""
    where = {"zookeeper.connect": "nowhere.invalid:1", "group.id": "g"}
    for settings, reported in (
        ({"zookeeper_auth_scheme": "digest"}, "zookeeper.auth.username"),
        ({"zookeeper_auth_password": "x"}, "zookeeper.auth.scheme"),
        ({"zookeeper_set_acl": True}, "zookeeper.set.acl needs a user"),
        ({"zookeeper_ssl_truststore_location": "x.pem"}, "zookeeper.ssl.client.enable"),
        (
            {"zookeeper_ssl_client_enable": True, "zookeeper_ssl_truststore_location": "x.jks"},
            "give a PEM file",
        ),
    ):
        with pytest.raises(ConfigError, match=reported):
            ConsumerConfig(where, **settings)
    absent = ZookeeperSecurity(tls=True, cafile=str(tmp_path / "absent.pem"))
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.truststore\.location"):
        opened("nowhere.invalid:1", absent)
    assert PASSWORD not in repr(SASL)
