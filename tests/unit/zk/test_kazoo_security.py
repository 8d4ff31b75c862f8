"""How kazoo authenticates, and how its connections use TLS, without a server."""

import ssl
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.fake_socket import FakeSocket
from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.errors import ConfigError
from zkconsumer.net.security import TlsSettings
from zkconsumer.net.tls import FileSettings
from zkconsumer.zk import kazoo_security
from zkconsumer.zk.kazoo_security import TlsOpener, arguments_of, install

ADDRESS = ("10.0.0.1", 2281)


class HandshakeDouble:
    """An ``SSLContext`` whose handshakes end as scripted.

    Attributes:
        failure: what the next handshakes raise, if anything.
        opened: each connection, and the host that its certificate must be for.
    """

    def __init__(self) -> None:
        self.failure: OSError | None = None
        self.opened: list[tuple[object, str | None]] = []

    def wrap_socket(self, sock: object, *, server_hostname: str | None) -> str:
        """See ``SSLContext``."""
        if self.failure is not None:
            raise self.failure
        self.opened.append((sock, server_hostname))
        return "encrypted"


class TlsWorld:
    """An opener over connections that always succeed.

    Attributes:
        sockets: the connections below TLS.
        requested: what the opening of each was given.
    """

    def __init__(self) -> None:
        self.sockets: list[FakeSocket] = []
        self.requested: list[tuple[object, ...]] = []
        self.context = HandshakeDouble()
        context: Any = self.context
        self.opener = TlsOpener(context, self.open_plainly)

    def open_plainly(self, *args: object, **kwargs: object) -> FakeSocket:
        """Open a connection as kazoo's handler does."""
        self.requested.append((*args, kwargs))
        self.sockets.append(FakeSocket())
        return self.sockets[-1]

    def refusal(self, failure: OSError) -> str | None:
        """Return the opener's reason after a handshake that failed like this."""
        self.context.failure = failure
        with pytest.raises(type(failure)) as caught:
            self.opener.open(ADDRESS, hostname="zk1")
        assert caught.value is failure
        return self.opener.tls_failure


@pytest.fixture
def world() -> TlsWorld:
    """Create a world without a connection."""
    return TlsWorld()


def of_openssl(error: ssl.SSLError, **fields: str | None) -> ssl.SSLError:
    """Set the fields of an error that only the ``ssl`` module can set."""
    for name, value in fields.items():
        setattr(error, name, value)
    return error


DIGEST = ZookeeperSecurity(scheme="digest", username="me", password="secret")
SASL = ZookeeperSecurity(scheme="sasl", username="me", password="secret")


def test_kazoo_authenticates_as_configured() -> None:
    """User name and password are passed to the mechanism of the scheme."""
    assert arguments_of(OPEN) == {}
    assert arguments_of(DIGEST) == {"auth_data": [("digest", "me:secret")]}
    assert arguments_of(SASL) == {
        "sasl_options": {"mechanism": "DIGEST-MD5", "username": "me", "password": "secret"}
    }


def test_sasl_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """SASL without its library is refused with what to install; a digest needs no library."""
    monkeypatch.setitem(sys.modules, "puresasl", None)
    with pytest.raises(ConfigError, match=r"pip install 'zkconsumer\[zookeeper-sasl\]'"):
        arguments_of(SASL)
    assert arguments_of(DIGEST)


def test_without_tls_connections_stay_as_they_are() -> None:
    """Without TLS kazoo's way to connect is left unchanged, and there is no opener."""
    handler = SimpleNamespace(create_connection="kazoo's own")
    assert install(SimpleNamespace(handler=handler), OPEN) is None
    assert handler.create_connection == "kazoo's own"


def test_every_connection_of_a_client_is_encrypted(
    world: TlsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection is encrypted, with one context of the configured files."""
    made: list[tuple[TlsSettings, FileSettings]] = []

    def noting(files: TlsSettings, *, names: FileSettings) -> HandshakeDouble:
        made.append((files, names))
        return world.context

    monkeypatch.setattr(kazoo_security, "context_of", noting)
    security = ZookeeperSecurity(
        tls=True, cafile="ca.pem", certfile="me.pem", key_password="secret", check_hostname=False
    )
    handler: Any = SimpleNamespace(create_connection=world.open_plainly)
    opener = install(SimpleNamespace(handler=handler), security)
    assert isinstance(opener, TlsOpener)
    for host in ("zk1", "zk2"):
        assert handler.create_connection(ADDRESS, hostname=host, timeout=2.0) == "encrypted"
    assert world.requested == [
        (ADDRESS, {"hostname": "zk1", "timeout": 2.0}),
        (ADDRESS, {"hostname": "zk2", "timeout": 2.0}),
    ]
    assert world.context.opened == [(world.sockets[0], "zk1"), (world.sockets[1], "zk2")]
    [(files, names)] = made
    assert files == TlsSettings(
        cafile="ca.pem", certfile="me.pem", password="secret", check_hostname=False
    )
    assert names.authorities == "zookeeper.ssl.truststore.location"
    assert names.certificate == "zookeeper.ssl.keystore.location"


def test_a_file_that_can_not_be_read_is_named_before_anything_connects(tmp_path: Path) -> None:
    """A file that can't be read is refused with its setting, before anything connects."""
    kazoo = SimpleNamespace(handler=SimpleNamespace(create_connection=pytest.fail))
    absent = str(tmp_path / "absent.pem")
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.truststore\.location=.*absent\.pem"):
        install(kazoo, ZookeeperSecurity(tls=True, cafile=absent))
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.keystore\.location=.*absent\.pem"):
        install(kazoo, ZookeeperSecurity(tls=True, certfile=absent))


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (
            of_openssl(ssl.SSLCertVerificationError(1, "x"), verify_message="unable to get it"),
            "its certificate is not trusted: unable to get it",
        ),
        (
            of_openssl(ssl.SSLError(1, "x"), reason="WRONG_VERSION_NUMBER"),
            "WRONG_VERSION_NUMBER: is this its secureClientPort?",
        ),
        (
            of_openssl(ssl.SSLError(1, "unknown error"), reason=None),
            "unknown error: is this its secureClientPort?",
        ),
        (
            ConnectionResetError("reset by peer"),
            "it closed the connection: is this its secureClientPort? (reset by peer)",
        ),
    ],
)
def test_a_failed_handshake_has_a_reason(world: TlsWorld, failure: OSError, reason: str) -> None:
    """A failed handshake is raised to kazoo, which retries, with a reason for the user."""
    assert world.refusal(failure) == reason
    assert [sock.closed for sock in world.sockets] == [True]


def test_a_handshake_that_succeeds_clears_the_reason_of_earlier_ones(world: TlsWorld) -> None:
    """A successful handshake clears the reason of earlier failures."""
    assert world.refusal(ConnectionResetError("reset by peer")) is not None
    world.context.failure = None
    assert world.opener.open(ADDRESS, hostname="zk1") == "encrypted"
    assert world.opener.tls_failure is None
    assert [sock.closed for sock in world.sockets] == [True, False]


def test_a_server_that_refuses_connections_has_no_tls_reason() -> None:
    """A server that refuses connections has no TLS reason."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise ConnectionRefusedError

    context: Any = HandshakeDouble()
    opener = TlsOpener(context, refuse)
    with pytest.raises(ConnectionRefusedError):
        opener.open(ADDRESS, hostname="zk1")
    assert opener.tls_failure is None
