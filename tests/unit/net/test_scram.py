"""Proofs of passwords: the example of the RFC, a server of our own, and servers that lie."""

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
    """That of the RFC's example."""
    return ScramConversation("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)


def test_the_example_of_the_rfc() -> None:
    """RFC 7677, section 3."""
    one = conversation()
    assert one.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert one.proof(SERVER_FIRST.encode()) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    one.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(sorted(HASHES)), text, text)
@example("SCRAM-SHA-256", "=a,b=2C,", "p,=")
def test_any_name_and_password(mechanism: str, username: str, password: str) -> None:
    """Both sides believe each other, whatever characters there are."""
    client = ScramConversation(mechanism, username, password, nonce="client-nonce")
    server = ScramServer(HASHES[mechanism], username, password)
    client.check(server.outcome(client.proof(server.challenge(client.first()))))


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(sorted(HASHES)), text, text)
def test_another_password(mechanism: str, password: str, other: str) -> None:
    """The server does not believe it; and a server without the password is not believed."""
    client = ScramConversation(mechanism, "u", password, nonce="client-nonce")
    server = ScramServer(HASHES[mechanism], "u", other)
    if password == other:
        return
    outcome = server.outcome(client.proof(server.challenge(client.first())))
    with pytest.raises(AuthenticationFailed, match="refuses: invalid-proof"):
        client.check(outcome)


def test_a_server_that_only_claims_to_know_us() -> None:
    """Its signature is another one."""
    one = conversation()
    one.first()
    one.proof(SERVER_FIRST.encode())
    with pytest.raises(AuthenticationFailed, match="can't prove"):
        one.check(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


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
def test_first_messages_that_break_the_rules(message: bytes) -> None:
    """Refused, before a proof leaves us that was made cheap to guess from."""
    with pytest.raises(AuthenticationFailed, match="SCRAM"):
        conversation().proof(message)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=40))
def test_any_last_message(message: bytes) -> None:
    """Nothing but the right signature is believed, and nothing breaks."""
    one = conversation()
    one.first()
    with pytest.raises(AuthenticationFailed):
        one.check(message)
