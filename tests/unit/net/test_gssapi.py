"""The module that calls GSSAPI, with a scripted library."""

import re
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.unit.net.test_kerberos import HEAD, entry
from zkconsumer import KafkaConsumer
from zkconsumer.errors import AuthenticationFailed, ConfigError, ConnectFailed
from zkconsumer.net import gssapi
from zkconsumer.net.gssapi import KerberosLogin
from zkconsumer.net.kerberos import KerberosSettings

FAILURE, CREDENTIALS_EXPIRED, NO_CODE = 851_968, 720_896, 100_001
UNREACHABLE, EXPIRED, UNKNOWN_SERVICE, WRONG_KEY = (
    2_529_639_068,
    2_529_638_944,
    2_529_638_919,
    2_529_638_943,
)


class GSSError(Exception):
    """An exception like the library's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"Major (851968): Unspecified. Minor ({code}): {text}")
        self.min_code = code
        self.maj_code = CREDENTIALS_EXPIRED if code == NO_CODE else FAILURE
        self._text = text

    def get_all_statuses(self, code: int, *, is_maj: bool) -> list[str]:
        """Return the library's texts for a code."""
        assert code == (self.maj_code if is_maj else self.min_code)
        return [self._text] if is_maj or self.min_code != NO_CODE else ["Success"]


@dataclass
class GssapiLibrary:
    """A scripted ``gssapi``.

    Attributes:
        lives_s: the remaining lifetime of each ticket, in the order of the checks.
        fails: raised by every call that needs a KDC.
        stores: the credential stores that were used.
        tokens: the tokens that contexts were given.
        names: the services that contexts were made for.
    """

    lives_s: list[int | None] = field(default_factory=lambda: [36_000])
    fails: GSSError | None = None
    stores: list[dict[str, str] | None] = field(default_factory=list)
    tokens: list[bytes | None] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def module(self) -> Any:
        """Return what ``import gssapi`` returns."""
        library = self

        class Credentials:
            def __init__(self, *, usage: str, name: object, store: dict[str, str] | None) -> None:
                assert usage == "initiate"
                library.stores.append(store)
                self.name = name or "first@R"

            @property
            def lifetime(self) -> int | None:
                if library.fails is not None:
                    raise library.fails
                lives = library.lives_s
                return lives.pop(0) if len(lives) > 1 else lives[0]

        class SecurityContext:
            def __init__(self, *, name: object, **_: object) -> None:
                library.names.append(str(name))
                self._steps = 0

            @property
            def complete(self) -> bool:
                return self._steps == 2

            def step(self, token: bytes | None) -> bytes | None:
                if library.fails is not None:
                    raise library.fails
                library.tokens.append(token)
                self._steps += 1
                return b"ticket" if self._steps == 1 else None

            def unwrap(self, token: bytes) -> Any:
                assert token == b"wrapped offer"
                return types.SimpleNamespace(message=b"\1\0\0\0")

            def wrap(self, token: bytes, *, encrypt: bool) -> Any:
                assert not encrypt
                return types.SimpleNamespace(message=b"wrapped " + token)

        return types.SimpleNamespace(
            Name=lambda name, _: name,
            NameType=types.SimpleNamespace(kerberos_principal=1, hostbased_service=2),
            RequirementFlag=types.SimpleNamespace(
                mutual_authentication=1, integrity=2, out_of_sequence_detection=3
            ),
            MechType=types.SimpleNamespace(kerberos="krb5"),
            Credentials=Credentials,
            SecurityContext=SecurityContext,
            exceptions=types.SimpleNamespace(GSSError=GSSError),
        )


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> GssapiLibrary:
    """The scripted library in place of the real one."""
    scripted = GssapiLibrary()
    monkeypatch.setattr(gssapi, "import_module", lambda _: scripted.module())
    return scripted


@pytest.fixture
def keytab(tmp_path: Path) -> str:
    """A keytab with a key of ``app@R``."""
    path = tmp_path / "app.keytab"
    path.write_bytes(HEAD + entry("R", "app"))
    return str(path)


def test_a_login_by_ticket(library: GssapiLibrary) -> None:
    """First a ticket, then an empty token, then our choice of no security layer, with our name."""
    conversation = KerberosLogin(KerberosSettings(principal="app@R")).conversation_with("b1")
    assert library.names == ["kafka@b1"]
    tokens = [conversation.first(), conversation.response(b"proof")]
    unanswered = [conversation.is_unanswered]
    tokens.append(conversation.response(b"wrapped offer"))
    unanswered.append(conversation.is_unanswered)
    assert tokens == [b"ticket", b"", b"wrapped \1\0\0\0app@R"]
    assert unanswered == [False, True]
    assert conversation.response(b"") is None
    assert library.tokens == [None, b"proof"]
    assert library.stores == [None]


def test_a_ticket_of_a_keytab_is_used_until_it_almost_expires(
    library: GssapiLibrary, keytab: str
) -> None:
    """Then another one is requested, in a cache of its own."""
    login = KerberosLogin(KerberosSettings(keytab=keytab))
    library.lives_s = [100, 100, 60, 21, 20, 100, 100, 99]
    for _ in range(3):
        login.conversation_with("b1")
    assert len(library.stores) == 1
    login.conversation_with("b1")
    login.conversation_with("b1")
    assert len(library.stores) == 2
    first, second = library.stores
    assert first is not None
    assert second is not None
    assert first["client_keytab"] == second["client_keytab"] == f"FILE:{keytab}"
    assert first["ccache"] != second["ccache"]
    assert all(environment["ccache"].startswith("MEMORY:") for environment in (first, second))


def test_the_cache_of_kinit_is_read_for_each_connection(library: GssapiLibrary) -> None:
    """Kinit may have renewed the ticket."""
    login = KerberosLogin(KerberosSettings())
    for _ in range(2):
        login.conversation_with("b1")
    assert library.stores == [None, None]


@dataclass(frozen=True)
class Failure:
    """An error of the library when we request our own ticket, and the error that we raise."""

    code: int
    text: str
    by_keytab: bool
    error: type[Exception]
    reported: str


FAILURES = [
    Failure(1, "No cache", False, AuthenticationFailed, "No cache: run kinit.*_keytab"),
    Failure(
        NO_CODE,
        "The credentials have expired",
        False,
        AuthenticationFailed,
        "have expired: run kinit",
    ),
    Failure(EXPIRED, "Ticket expired", False, AuthenticationFailed, "expired: run kinit"),
    Failure(
        WRONG_KEY, "Decrypt failed", True, AuthenticationFailed, "rejects the key of .*app.keytab"
    ),
    Failure(1, "Clock skew", True, AuthenticationFailed, "app.keytab.*Clock skew"),
    Failure(UNREACHABLE, "No KDC", True, ConnectFailed, "no Kerberos ticket: No KDC.*krb5.conf"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda error: error.reported)
def test_the_error_of_a_missing_own_ticket_says_what_to_do(
    library: GssapiLibrary, keytab: str, failure: Failure
) -> None:
    """It is one line with the library's text and the setting to change; a missing KDC may pass."""
    login = KerberosLogin(KerberosSettings(keytab=keytab if failure.by_keytab else None))
    library.fails = GSSError(failure.code, failure.text)
    with pytest.raises(failure.error, match=failure.reported) as caught:
        login.conversation_with("b1")
    assert "\n" not in str(caught.value)
    assert "Major" not in str(caught.value)


def test_the_error_of_a_missing_broker_ticket_names_the_service(library: GssapiLibrary) -> None:
    """The error names the service, and the setting that its name comes from."""
    conversation = KerberosLogin(KerberosSettings(service_name="other")).conversation_with("b1")
    library.fails = GSSError(UNKNOWN_SERVICE, "Server other/b1@R not found")
    with pytest.raises(
        AuthenticationFailed, match=r"no ticket for other@b1: Server.*sasl_kerberos_service_name"
    ):
        conversation.first()
    library.fails = GSSError(EXPIRED, "Ticket expired")
    with pytest.raises(AuthenticationFailed, match="run kinit again"):
        conversation.first()


def test_an_expired_ticket_in_the_cache_is_noticed(library: GssapiLibrary) -> None:
    """The library returns an expired ticket without an error."""
    library.lives_s = [0]
    with pytest.raises(AuthenticationFailed, match="expired: run kinit"):
        KerberosLogin(KerberosSettings()).conversation_with("b1")


def test_without_the_library_the_error_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error says what to install, and what that needs of the system."""

    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(gssapi, "import_module", missing)
    with pytest.raises(ConfigError, match=r"zkconsumer\[kerberos\].*libkrb5-dev.*krb5-devel"):
        KafkaConsumer("t", security_protocol="SASL_SSL", sasl_mechanism="GSSAPI")


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (None, "can't be read: No such file"),
        (b"hello", "it is not a keytab"),
        (HEAD, "holds no key"),
        (HEAD + entry("R", "other"), "holds keys of other@R only"),
    ],
)
@pytest.mark.usefixtures("library")
def test_an_unusable_keytab_is_refused(
    tmp_path: Path, content: bytes | None, reported: str
) -> None:
    """It is refused before connecting, and the error names the setting."""
    path = tmp_path / "app.keytab"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"sasl_kerberos_.*{re.escape(reported)}"):
        KafkaConsumer(
            "t",
            bootstrap_servers="127.0.0.1:1",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="GSSAPI",
            sasl_kerberos_keytab=str(path),
            sasl_kerberos_principal="app",
        )


@pytest.mark.usefixtures("library")
def test_a_keytab_with_another_mechanism_is_refused(keytab: str) -> None:
    """It is refused before connecting, and so is a password with Kerberos."""
    common: dict[str, Any] = {
        "bootstrap_servers": "127.0.0.1:1",
        "security_protocol": "SASL_PLAINTEXT",
    }
    with pytest.raises(ConfigError, match=r"sasl_kerberos_keytab.*SCRAM-SHA-512: give GSSAPI"):
        KafkaConsumer(
            "t",
            **common,
            sasl_mechanism="SCRAM-SHA-512",
            sasl_plain_username="u",
            sasl_plain_password="p",
            sasl_kerberos_keytab=keytab,
        )
    with pytest.raises(ConfigError, match=r"sasl_plain_password.*GSSAPI") as caught:
        KafkaConsumer(
            "t",
            **common,
            sasl_mechanism="GSSAPI",
            sasl_kerberos_keytab=keytab,
            sasl_plain_password="s3cret",
        )
    assert "s3cret" not in str(caught.value)
