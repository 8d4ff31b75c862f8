"""Tokens of an endpoint: how long each is used, and the error without one."""

import base64
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.token_endpoint import TokenEndpoint, granted
from zkconsumer.errors import AuthenticationFailed, ConfigError, ConnectFailed, TransportError
from zkconsumer.net.client_credentials import ClientCredentials
from zkconsumer.net.oauth import FetchedTokens
from zkconsumer.net.sasl_mechanisms import OAuthBearer, mechanism_of
from zkconsumer.net.security import SecuritySettings
from zkconsumer.scope import ThreadScope

SECRET = "s3cret-of-the-client"


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    """A token endpoint on loopback."""
    with TokenEndpoint() as serving:
        yield serving


def credentials(url: str, scope: str | None = None) -> ClientCredentials:
    """Return the client's credentials."""
    return ClientCredentials(endpoint_url=url, client_id="app", client_secret=SECRET, scope=scope)


def test_a_token_is_used_for_most_of_its_life(endpoint: TokenEndpoint) -> None:
    """Then another one is fetched, with the configured client and scope."""
    clock = ManualClock()
    tokens = FetchedTokens(credentials(endpoint.url, "kafka read"), clock=clock)
    endpoint.responses = [granted("one"), granted("two")]
    assert tokens.token() == "one"
    clock.advance(79_999)
    assert tokens.token() == "one"
    clock.advance(1)
    assert tokens.token() == "two"
    who = "Basic " + base64.b64encode(f"app:{SECRET}".encode()).decode()
    form = {"grant_type": ["client_credentials"], "scope": ["kafka read"]}
    assert endpoint.requested == [(who, form)] * 2


@pytest.mark.parametrize("lifetime_s", [0, -5, None, "soon", True])
def test_a_token_of_unknown_lifetime_is_used_once(
    endpoint: TokenEndpoint, lifetime_s: object
) -> None:
    """An invalid lifetime counts as unknown."""
    tokens = FetchedTokens(credentials(endpoint.url), clock=ManualClock())
    endpoint.responses = [granted("one", lifetime_s), granted("two", lifetime_s)]
    assert (tokens.token(), tokens.token()) == ("one", "two")


@pytest.mark.parametrize(
    ("response", "reported"),
    [
        ((401, b"no such client"), "no token for app: .*401: no such client"),
        ((200, b"<html>"), "not JSON"),
        ((200, b"[1]"), "no access_token"),
        ((200, b'{"access_token": 7}'), "no access_token"),
        ((200, b" " * (300 << 10)), "longer than"),
    ],
)
def test_an_invalid_response_is_a_failed_authentication(
    endpoint: TokenEndpoint, response: tuple[int, bytes], reported: str
) -> None:
    """A retry would not help; the error is one sentence, without the secret."""
    endpoint.responses = [response]
    with pytest.raises(AuthenticationFailed, match=reported) as caught:
        FetchedTokens(credentials(endpoint.url)).token()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("code", [302, 500, 503])
def test_a_failing_endpoint_is_a_retriable_error(endpoint: TokenEndpoint, code: int) -> None:
    """A redirection is one as well: the secret is for the endpoint only."""
    endpoint.responses = [(code, b"later")]
    with pytest.raises(ConnectFailed, match=rf"responded with {code}"):
        FetchedTokens(credentials(endpoint.url)).token()


def test_an_endpoint_that_is_away_is_a_retriable_error() -> None:
    """It is not taken for a refusal."""
    with pytest.raises(TransportError, match=r"127\.0\.0\.1:1/token"):
        FetchedTokens(credentials("http://127.0.0.1:1/token"), timeout_ms=2_000).token()


@pytest.mark.parametrize(
    ("response", "reported"),
    [
        (b"220 mail.example ESMTP\r\n\r\n", "220 mail"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nshort", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 300 + b"\r\n", "headers"),
        (
            b"HTTP/1.1 503 Later\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
            "responded with 503",
        ),
    ],
)
def test_a_response_that_is_not_http_is_an_error(
    endpoint: TokenEndpoint, response: bytes, reported: str
) -> None:
    """It is probably another port, or its response was cut short."""
    endpoint.responses = [response]
    with pytest.raises(ConnectFailed, match=reported):
        FetchedTokens(credentials(endpoint.url), timeout_ms=5_000).token()


def test_the_time_out_is_for_the_whole_response() -> None:
    """An endpoint that sends a byte now and then would otherwise hold the call for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                while not ended.wait(0.02):
                    connection.sendall(b"H")

        scope = ThreadScope("drip")
        scope.spawn("send", drip, stop=ended.set)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/token"
        with pytest.raises(ConnectFailed, match="timed out"):
            FetchedTokens(credentials(url), timeout_ms=200).token()
        assert scope.close(5_000) == []


@pytest.mark.parametrize("no_proxy", ["", "idp.invalid", "idp.invalid:80"])
def test_the_proxy_of_the_environment_is_used(
    endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch, no_proxy: str
) -> None:
    """It is, unless ``no_proxy`` names the endpoint."""
    monkeypatch.setenv("http_proxy", endpoint.url.replace("//", "//us%65r:pw@"))
    monkeypatch.setenv("no_proxy", no_proxy)
    endpoint.responses = [granted("one")]
    tokens = FetchedTokens(credentials("http://idp.invalid:80/token"), timeout_ms=5_000)
    if not no_proxy:
        assert tokens.token() == "one"
        assert endpoint.paths == ["http://idp.invalid:80/token"]
        assert endpoint.proxy_logins == ["Basic dXNlcjpwdw=="]
    else:
        with pytest.raises(ConnectFailed, match=r"idp\.invalid"):
            tokens.token()


def test_a_proxy_that_refuses_to_connect_is_an_error(
    endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret is not sent, as there is no TLS to the endpoint."""
    monkeypatch.setenv("https_proxy", endpoint.url)
    with pytest.raises(ConnectFailed, match=r"the proxy 127\.0\.0\.1 responded with 501"):
        FetchedTokens(credentials("https://idp.invalid/token"), timeout_ms=5_000).token()
    assert endpoint.requested == []


@pytest.mark.parametrize("proxy", ["http://app:hun/ter@h:1", "[::", "http://h:99999", ":3128"])
def test_an_invalid_proxy_is_an_error(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """It names the variable, but not its value, which may hold a password."""
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ConnectFailed, match="https_proxy: give http://host:port") as caught:
        FetchedTokens(credentials("https://idp.invalid/token")).token()
    assert "hun" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    """Neither the credentials nor the settings show them in their repr."""
    shown = credentials("https://idp.example/token")
    settings = SecuritySettings(
        protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", token_source=lambda: SECRET
    )
    assert SECRET not in repr(shown) + repr(settings)


@pytest.mark.parametrize("url", ["ftp://h/x", "idp.example/token", "https://"])
def test_an_invalid_endpoint_address_is_refused(url: str) -> None:
    """It is before a connection is opened."""
    with pytest.raises(ConfigError, match="sasl_oauthbearer_token_endpoint_url"):
        credentials(url)


def test_a_secret_over_http_is_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At a loopback address it crosses no network, and causes no warning."""
    FetchedTokens(credentials("http://127.0.0.1:1/token"))
    FetchedTokens(credentials("https://idp.example/token"))
    assert not caplog.messages
    FetchedTokens(credentials("http://idp.example/token"))
    assert "use https" in caplog.text
    assert SECRET not in caplog.text


def test_a_token_is_sent_as_rfc_7628_has_it() -> None:
    """Section 3.1: a message after it is a refusal."""
    settings = SecuritySettings(
        protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", token_source=lambda: "a.b.c"
    )
    mechanism = mechanism_of(settings, host="b", nonce="n")
    assert mechanism.first() == b"n,,\x01auth=Bearer a.b.c\x01\x01"
    assert mechanism.response(b"") is None
    with pytest.raises(AuthenticationFailed, match=r"invalid_token"):
        mechanism.response(b'{"status":"invalid_token"}')


@pytest.mark.parametrize("token", ["", "a b", "a\1b", "é"])
def test_an_invalid_token_is_not_sent(token: str) -> None:
    """Its characters could mean something else to the broker."""
    with pytest.raises(AuthenticationFailed, match="valid token"):
        OAuthBearer(token)


def test_tokens_and_other_mechanisms_can_not_be_combined() -> None:
    """Each error names the setting to use."""
    with pytest.raises(ConfigError, match="sasl_oauth_token_provider"):
        SecuritySettings(protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER")
    with pytest.raises(ConfigError, match="give OAUTHBEARER"):
        SecuritySettings(
            protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            sasl_username="u",
            sasl_password="p",
            token_source=lambda: "t",
        )
