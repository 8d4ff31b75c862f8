"""Tokens of an endpoint: how long each is used, and what is said where none comes."""

import base64
from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.token_endpoint import TokenEndpoint, granted
from zkconsumer.errors import AuthenticationFailed, ConfigError, ConnectFailed, TransportError
from zkconsumer.net.client_credentials import ClientCredentials
from zkconsumer.net.oauth import FetchedTokens
from zkconsumer.net.sasl_mechanisms import OAuthBearer, mechanism_of
from zkconsumer.net.security import SecuritySettings

SECRET = "s3cret-of-the-client"


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    """One on loopback."""
    with TokenEndpoint() as serving:
        yield serving


def credentials(url: str, scope: str | None = None) -> ClientCredentials:
    """Who asks."""
    return ClientCredentials(endpoint_url=url, client_id="app", client_secret=SECRET, scope=scope)


def test_a_token_is_used_for_most_of_its_life(endpoint: TokenEndpoint) -> None:
    """Then another one is fetched, as whom and what for the settings say."""
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
def test_a_token_of_no_known_life_is_used_once(endpoint: TokenEndpoint, lifetime_s: object) -> None:
    """An invalid lifetime counts as none."""
    tokens = FetchedTokens(credentials(endpoint.url), clock=ManualClock())
    endpoint.responses = [granted("one", lifetime_s), granted("two", lifetime_s)]
    assert (tokens.token(), tokens.token()) == ("one", "two")


@pytest.mark.parametrize(
    ("response", "reported"),
    [
        ((401, b"no such client"), "no token for app: .*401: no such client"),
        ((200, b"<html>"), "no JSON"),
        ((200, b"[1]"), "no access_token"),
        ((200, b'{"access_token": 7}'), "no access_token"),
        ((200, b" " * (300 << 10)), "longer than"),
    ],
)
def test_what_another_try_does_not_help_against(
    endpoint: TokenEndpoint, response: tuple[int, bytes], reported: str
) -> None:
    """One sentence, without the secret."""
    endpoint.responses = [response]
    with pytest.raises(AuthenticationFailed, match=reported) as caught:
        FetchedTokens(credentials(endpoint.url)).token()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("code", [302, 500, 503])
def test_an_endpoint_in_trouble_may_be_asked_again(endpoint: TokenEndpoint, code: int) -> None:
    """A redirection is not followed: the secret is for the endpoint alone."""
    endpoint.responses = [(code, b"later")]
    with pytest.raises(ConnectFailed, match=rf"answers {code}"):
        FetchedTokens(credentials(endpoint.url)).token()


def test_an_endpoint_that_is_away_may_be_asked_again() -> None:
    """It is no refusal."""
    with pytest.raises(TransportError, match=r"127\.0\.0\.1:1/token"):
        FetchedTokens(credentials("http://127.0.0.1:1/token"), timeout_ms=2_000).token()


@pytest.mark.parametrize(
    ("response", "reported"),
    [
        (b"220 mail.example ESMTP\r\n\r\n", "220 mail"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nshort", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 300 + b"\r\n", "headers"),
        (b"HTTP/1.1 503 Later\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", "answers 503"),
    ],
)
def test_what_is_no_http_is_no_crash(
    endpoint: TokenEndpoint, response: bytes, reported: str
) -> None:
    """Most likely another port, or one whose answer broke off."""
    endpoint.responses = [response]
    with pytest.raises(ConnectFailed, match=reported):
        FetchedTokens(credentials(endpoint.url), timeout_ms=5_000).token()


def test_secrets_are_not_shown() -> None:
    """Neither here nor in what holds it."""
    shown = credentials("https://idp.example/token")
    settings = SecuritySettings(
        protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", token_source=lambda: SECRET
    )
    assert SECRET not in repr(shown) + repr(settings)


@pytest.mark.parametrize("url", ["ftp://h/x", "idp.example/token", "https://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """It is refused before a connection is opened."""
    with pytest.raises(ConfigError, match="sasl_oauthbearer_token_endpoint_url"):
        credentials(url)


def test_only_a_secret_that_crosses_a_network_is_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A loopback address causes no warning."""
    FetchedTokens(credentials("http://127.0.0.1:1/token"))
    FetchedTokens(credentials("https://idp.example/token"))
    assert not caplog.messages
    FetchedTokens(credentials("http://idp.example/token"))
    assert "use https" in caplog.text
    assert SECRET not in caplog.text


def test_the_bytes_of_a_token() -> None:
    """RFC 7628, section 3.1; an answer is a refusal."""
    settings = SecuritySettings(
        protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", token_source=lambda: "a.b.c"
    )
    mechanism = mechanism_of(settings, host="b", nonce="n")
    assert mechanism.first() == b"n,,\x01auth=Bearer a.b.c\x01\x01"
    assert mechanism.response(b"") is None
    with pytest.raises(AuthenticationFailed, match=r"invalid_token"):
        mechanism.response(b'{"status":"invalid_token"}')


@pytest.mark.parametrize("token", ["", "a b", "a\1b", "é"])
def test_what_is_no_token_is_not_sent(token: str) -> None:
    """It could say something else to the broker."""
    with pytest.raises(AuthenticationFailed, match="no token"):
        OAuthBearer(token)


def test_tokens_and_other_mechanisms_do_not_mix() -> None:
    """Each error names what to give."""
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
