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
    """An ``SSLContext`` whose handshakes end as they are told to.

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
    """An opener over connections that always come about.

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
        """As kazoo's handler opens a connection."""
        self.requested.append((*args, kwargs))
        self.sockets.append(FakeSocket())
        return self.sockets[-1]

    def refusal(self, failure: OSError) -> str | None:
        """Why the opener says that the server was not reached."""
        self.context.failure = failure
        with pytest.raises(type(failure)) as caught:
            self.opener.open(ADDRESS, hostname="zk1")
        assert caught.value is failure
        return self.opener.why_refused


@pytest.fixture
def world() -> TlsWorld:
    """A world without a connection."""
    return TlsWorld()


def of_openssl(error: ssl.SSLError, **fields: str | None) -> ssl.SSLError:
    """An error with the fields that only the ``ssl`` module sets."""
    for name, value in fields.items():
        setattr(error, name, value)
    return error


DIGEST = ZookeeperSecurity(scheme="digest", username="me", password="secret")
SASL = ZookeeperSecurity(scheme="sasl", username="me", password="secret")


def test_kazoo_authenticates_as_configured() -> None:
    """The user name and the password go to the mechanism of the scheme."""
    assert arguments_of(OPEN) == {}
    assert arguments_of(DIGEST) == {"auth_data": [("digest", "me:secret")]}
    assert arguments_of(SASL) == {
        "sasl_options": {"mechanism": "DIGEST-MD5", "username": "me", "password": "secret"}
    }


def test_sasl_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest needs no library."""
    monkeypatch.setitem(sys.modules, "puresasl", None)
    with pytest.raises(ConfigError, match=r"pip install 'zkconsumer\[zookeeper-sasl\]'"):
        arguments_of(SASL)
    assert arguments_of(DIGEST)


def test_without_tls_connections_stay_as_they_are() -> None:
    """There is no opener that could say why a server was not reached."""
    handler = SimpleNamespace(create_connection="kazoo's own")
    assert install(SimpleNamespace(handler=handler), OPEN) is None
    assert handler.create_connection == "kazoo's own"


def test_every_connection_of_a_client_is_encrypted(
    world: TlsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The context is made once, of the configured files."""
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
    """By the setting that names it."""
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
def test_a_failed_handshake_says_why(world: TlsWorld, failure: OSError, reason: str) -> None:
    """The error goes on to kazoo, which tries again; the connection below is closed."""
    assert world.refusal(failure) == reason
    assert [sock.closed for sock in world.sockets] == [True]


def test_a_handshake_that_succeeds_clears_the_reason_of_earlier_ones(world: TlsWorld) -> None:
    """What is wrong afterwards is something else."""
    assert world.refusal(ConnectionResetError("reset by peer")) is not None
    world.context.failure = None
    assert world.opener.open(ADDRESS, hostname="zk1") == "encrypted"
    assert world.opener.why_refused is None
    assert [sock.closed for sock in world.sockets] == [True, False]


def test_a_server_that_can_not_be_connected_to_is_no_matter_of_tls() -> None:
    """It gives no reason: nothing was refused."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise ConnectionRefusedError

    context: Any = HandshakeDouble()
    opener = TlsOpener(context, refuse)
    with pytest.raises(ConnectionRefusedError):
        opener.open(ADDRESS, hostname="zk1")
    assert opener.why_refused is None
