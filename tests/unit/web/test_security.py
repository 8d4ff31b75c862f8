"""Who may see the page, and under which host names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.errors import ConfigError
from zkconsumer.web.security import (
    HEADERS,
    SESSION_MS,
    Hosts,
    Tokens,
    check_token,
    comes_from_the_page,
    is_loopback,
    safe_onward,
)

TOKEN = "0123456789abcdef-secret"
NOW_MS = 1_795_000_000_000


def test_a_token_is_stripped_and_must_be_long() -> None:
    """A token is stripped of a file's newline, and refused if it is short enough to guess."""
    assert check_token(f"  {TOKEN}\n") == TOKEN
    for bad in ("", "short", "with space 0123456789", "ünïcode-0123456789", "\x00" * 20):
        with pytest.raises(ConfigError, match="token"):
            check_token(bad)


def test_the_token_is_taken_from_the_header() -> None:
    """The token is accepted from the Authorization header only, with the scheme in any case."""
    tokens = Tokens(TOKEN)
    assert tokens.admits({"authorization": f"Bearer {TOKEN}"}, NOW_MS)
    assert tokens.admits({"authorization": f"bearer  {TOKEN} "}, NOW_MS)
    for bad in (TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN}x", "Bearer \udc80"):
        assert not tokens.admits({"authorization": bad}, NOW_MS), bad
    assert not tokens.admits({}, NOW_MS)


def test_without_a_token_everybody_is_admitted() -> None:
    """Without a token everybody is admitted, and no cookie is accepted."""
    tokens = Tokens(None)
    assert tokens.admits({}, NOW_MS)
    assert not tokens.accepts("")
    assert not tokens.wanted


def test_a_cookie_is_valid_for_hours_and_for_one_token() -> None:
    """A cookie is valid for some hours, and only as long as the token is the same."""
    tokens = Tokens(TOKEN)
    headers = {"cookie": f"other=1; {tokens.cookie_name}={tokens.cookie(NOW_MS)}; last=2"}
    assert tokens.has_session(headers, NOW_MS)
    assert tokens.has_session(headers, NOW_MS + SESSION_MS - 1)
    assert not tokens.has_session(headers, NOW_MS + SESSION_MS)
    assert not tokens.has_session(headers, NOW_MS - 1)
    changed = Tokens(TOKEN + "2")
    value = tokens.cookie(NOW_MS)
    assert not changed.has_session({"cookie": f"{changed.cookie_name}={value}"}, NOW_MS)
    assert TOKEN not in value


@given(st.text(), st.text())
def test_a_forged_cookie_is_refused(stamp: str, signature: str) -> None:
    """A forged cookie is refused without an error."""
    tokens = Tokens(TOKEN)
    cookie = f"{tokens.cookie_name}={stamp}.{signature}"
    assert not tokens.has_session({"cookie": cookie}, NOW_MS)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8380", "127.0.0.1:8380", "127.0.0.9", "[::1]:1", "LOCALHOST"]
)
def test_on_loopback_its_own_names_are_accepted(host: str) -> None:
    """On loopback, loopback's own names are accepted with any port."""
    assert Hosts(any_name=False).accepts(host)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", None, "[", "a@b"])
def test_on_loopback_other_names_are_refused(host: str | None) -> None:
    """On loopback other names are refused, as they may be a web site's names for 127.0.0.1.

    Names that were allowed are accepted.
    """
    assert not Hosts(any_name=False).accepts(host)
    assert Hosts(any_name=True).accepts(host)
    assert Hosts(any_name=False, names=frozenset({"page.example"})).accepts("Page.Example:80")


def test_loopback_is_recognized() -> None:
    """Loopback is recognized by its addresses and its usual name."""
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("192.168.0.1")
    assert not is_loopback("kafka1")


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({"origin": "http://page:8380"}, True),
        ({"origin": "https://PAGE:8380"}, True),
        ({"origin": "http://page"}, False),
        ({"origin": "http://evil:8380"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://[", "sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site", "authorization": "Bearer x"}, False),
        ({"authorization": "Bearer x"}, True),
        ({}, False),
    ],
)
def test_a_post_must_come_from_the_page(headers: dict[str, str], ours: bool) -> None:
    """A POST is accepted from the page itself, or with a token."""
    assert comes_from_the_page({"host": "page:8380", **headers}) is ours
    assert not comes_from_the_page({"origin": "null://"})


@pytest.mark.parametrize(
    "address",
    [
        "//evil",
        "https://evil",
        "/\\evil",
        "javascript:1",
        "",
        "/login?next=/",
        "/a\r\nb",
        "/ü",
        "/\\",
    ],
)
def test_after_a_login_no_other_site_is_followed(address: str) -> None:
    """After a login only addresses of the page itself are followed."""
    assert safe_onward(address) == "/"


def test_after_a_login_the_requested_page_is_shown() -> None:
    """After a login the requested page is shown, with its parameters."""
    assert safe_onward("/groups/zookeeper/a%2Fb?page=2") == "/groups/zookeeper/a%2Fb?page=2"


def test_no_response_allows_other_scripts_or_frames() -> None:
    """No response allows inline scripts, scripts of other sites, or frames."""
    policy = dict(HEADERS)[b"content-security-policy"].decode()
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
