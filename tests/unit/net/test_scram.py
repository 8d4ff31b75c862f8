"""SCRAM: the RFC's example, a server of our own, and servers that lie."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.scram_server import ScramServer
from tests.support.shares import examples
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.net.scram import HASHES, MAX_ITERATIONS, ScramConversation

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)

text = st.text(min_size=1, max_size=12).filter(lambda name: "\0" not in name)


def conversation() -> ScramConversation:
    """Return the client's side of the RFC's example."""
    return ScramConversation("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)


def test_the_rfcs_example_is_reproduced() -> None:
    """RFC 7677, section 3."""
    client = conversation()
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.proof(SERVER_FIRST.encode()) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    client.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(sorted(HASHES)), text, text)
@example("SCRAM-SHA-256", "=a,b=2C,", "p,=")
def test_any_name_and_password_can_be_used(mechanism: str, username: str, password: str) -> None:
    """Client and server authenticate each other, whatever characters there are."""
    client = ScramConversation(mechanism, username, password, nonce="client-nonce")
    server = ScramServer(HASHES[mechanism], username, password)
    client.check(server.outcome(client.proof(server.challenge(client.first()))))


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(sorted(HASHES)), text, text)
def test_a_wrong_password_is_refused(mechanism: str, password: str, other: str) -> None:
    """A server with another password refuses the client."""
    client = ScramConversation(mechanism, "u", password, nonce="client-nonce")
    server = ScramServer(HASHES[mechanism], "u", other)
    if password == other:
        return
    outcome = server.outcome(client.proof(server.challenge(client.first())))
    with pytest.raises(AuthenticationFailed, match="refuses: invalid-proof"):
        client.check(outcome)


def test_a_server_without_the_password_is_refused() -> None:
    """The signature of such a server is wrong."""
    client = conversation()
    client.first()
    client.proof(SERVER_FIRST.encode())
    with pytest.raises(AuthenticationFailed, match="can't prove"):
        client.check(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"nonsense",
        b"e=other-error",
        SERVER_FIRST.replace("r=rOpr", "r=other").encode(),
        f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode(),
        SERVER_FIRST.replace("i=4096", "i=4095").encode(),
        SERVER_FIRST.replace("i=4096", f"i={MAX_ITERATIONS + 1}").encode(),
        SERVER_FIRST.replace("i=4096", "i=-1").encode(),
        SERVER_FIRST.replace("i=4096", "i=" + "9" * 5000).encode(),
        SERVER_FIRST.replace("i=4096", "i=٤٠٩٦").encode(),
        SERVER_FIRST.replace("s=W", "s=!").encode(),
        SERVER_FIRST.replace("s=W22ZaJ0SNY7soEsUEjb6gQ==,", "").encode(),
        f"m=new,{SERVER_FIRST}".encode(),
    ],
)
def test_invalid_first_messages_are_refused(message: bytes) -> None:
    """They are refused before a proof is sent that would be cheap to crack."""
    with pytest.raises(AuthenticationFailed, match="SCRAM"):
        conversation().proof(message)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=40))
def test_any_other_last_message_is_refused(message: bytes) -> None:
    """Only the right signature is accepted; no other exception is raised."""
    client = conversation()
    client.first()
    with pytest.raises(AuthenticationFailed):
        client.check(message)
