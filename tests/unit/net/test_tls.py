"""TLS certificates and their errors. What every transport does is tested in the contracts."""

import ssl
from pathlib import Path

import pytest

from tests.support.certificates import KEY_PASSWORD, Certificates
from tests.support.scripted_peer import ScriptedPeer
from tests.support.tls_peer import HOST, TlsPeer, server_context, transport_to
from zkconsumer.errors import (
    AuthenticationFailed,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
)
from zkconsumer.net.security import TlsSettings
from zkconsumer.net.tls import TlsTransport, context_of

LONG_MS = 10_000
SHORT_MS = 50


def peer_of(certificates: Certificates, *, wants_client: bool = False) -> TlsPeer:
    """Return a peer that echoes."""
    scripted = ScriptedPeer()
    scripted.echo()
    return TlsPeer(scripted, server_context(certificates, wants_client=wants_client))


def check_echo(transport: TlsTransport) -> None:
    """Shake hands, send, and read the echo."""
    transport.handshake(timeout_ms=LONG_MS)
    transport.set_timeout_ms(LONG_MS)
    transport.send(b"word")
    buffer = bytearray(4)
    assert transport.receive_into(memoryview(buffer)) == 4
    assert buffer == b"word"
    transport.close()


def test_both_sides_verify_each_other(certificates: Certificates) -> None:
    """Our certificate is sent if requested; it may be in one file or two, and encrypted."""
    for context in (
        context_of(TlsSettings(cafile=certificates.authority, certfile=certificates.client)),
        context_of(
            TlsSettings(
                cafile=certificates.authority,
                certfile=certificates.client,
                keyfile=certificates.client_key,
                password=KEY_PASSWORD,
            )
        ),
    ):
        check_echo(transport_to(peer_of(certificates, wants_client=True), context, HOST))


def test_an_untrusted_authority_is_refused(certificates: Certificates) -> None:
    """The error says what to do; nothing of ours is sent."""
    transport = transport_to(
        peer_of(certificates), context_of(TlsSettings(cafile=certificates.stranger)), HOST
    )
    with pytest.raises(AuthenticationFailed, match=r"127.0.0.1:1: .*is not trusted.*ssl_cafile"):
        transport.handshake(timeout_ms=LONG_MS)
    transport.close()


def test_a_certificate_for_another_host_is_refused(certificates: Certificates) -> None:
    """The dialed name must match, unless the caller disables the check."""
    strict = context_of(TlsSettings(cafile=certificates.authority))
    transport = transport_to(peer_of(certificates), strict, "other")
    with pytest.raises(AuthenticationFailed, match="ssl_check_hostname"):
        transport.handshake(timeout_ms=LONG_MS)
    transport.close()
    lax = context_of(TlsSettings(cafile=certificates.authority, check_hostname=False))
    check_echo(transport_to(peer_of(certificates), lax, "other"))


def test_a_peer_that_requires_a_client_certificate_refuses_us_without_one(
    certificates: Certificates,
) -> None:
    """Without a certificate we are refused; in TLS 1.3 only after the handshake."""
    context = context_of(TlsSettings(cafile=certificates.authority))
    refusing = peer_of(certificates, wants_client=True)
    with pytest.raises(AuthenticationFailed, match=r"refuses this client.*ssl_certfile"):
        check_echo(transport_to(refusing, context, HOST))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    refusing = peer_of(certificates, wants_client=True)
    with pytest.raises(AuthenticationFailed, match=r"refuses this client.*ssl_certfile"):
        check_echo(transport_to(refusing, context, HOST))


def test_one_receive_decrypts_all_that_has_arrived(certificates: Certificates) -> None:
    """A record of TLS has 16 KiB at most: a large response is not received by records."""
    scripted = ScriptedPeer()
    transport = transport_to(
        TlsPeer(scripted, server_context(certificates)),
        context_of(TlsSettings(cafile=certificates.authority)),
        HOST,
    )
    transport.handshake(timeout_ms=LONG_MS)
    transport.set_timeout_ms(LONG_MS)
    sent = bytes(range(256)) * 400
    scripted.write(sent)
    buffer = memoryview(bytearray(1 << 20))
    sizes: list[int] = []
    while sum(sizes) < len(sent):
        sizes.append(transport.receive_into(buffer[sum(sizes) :]))
    assert buffer[: len(sent)] == sent
    assert max(sizes) > 1 << 14
    scripted.finish()
    assert transport.receive_into(buffer) == 0
    transport.close()


def test_an_orderly_end_of_the_stream(certificates: Certificates) -> None:
    """What came before a peer's close_notify is returned first, then nothing more."""
    scripted = ScriptedPeer()
    peer = TlsPeer(scripted, server_context(certificates))
    context = context_of(TlsSettings(cafile=certificates.authority))
    transport = transport_to(peer, context, HOST)
    transport.handshake(timeout_ms=LONG_MS)
    transport.set_timeout_ms(LONG_MS)
    scripted.write(b"bye")
    buffer = memoryview(bytearray(10))
    assert transport.receive_into(buffer) == len(b"bye")
    with pytest.raises(ssl.SSLWantReadError):
        peer._tls.unwrap()  # sent; an end of ours is not awaited
    assert [transport.receive_into(buffer) for _ in range(2)] == [0, 0]
    transport.close()


def test_peers_without_tls_are_recognized(certificates: Certificates) -> None:
    """A peer with another protocol differs from one that closes, which may work later."""
    context = context_of(TlsSettings(cafile=certificates.authority))
    other = ScriptedPeer()
    other.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(AuthenticationFailed, match=r"does not use TLS.*security_protocol"):
        transport_to(other, context, HOST).handshake(timeout_ms=LONG_MS)
    closing = ScriptedPeer()
    closing.finish()
    with pytest.raises((ConnectFailed, ConnectionLost), match=r"127.0.0.1:1.*closed"):
        transport_to(closing, context, HOST).handshake(timeout_ms=LONG_MS)
    with pytest.raises(RequestTimedOut):
        transport_to(ScriptedPeer(), context, HOST).handshake(timeout_ms=SHORT_MS)


def test_unusable_files_are_refused(certificates: Certificates, tmp_path: Path) -> None:
    """Every error names the setting; nobody is asked for a password on a terminal."""
    missing, empty = tmp_path / "missing.pem", tmp_path / "empty.pem"
    empty.touch()
    for file in (missing, empty):
        with pytest.raises(ConfigError, match=rf"ssl_cafile='{file}'"):
            context_of(TlsSettings(cafile=file))
        with pytest.raises(ConfigError, match=rf"ssl_certfile='{file}'"):
            context_of(TlsSettings(certfile=file))
    for password in ("wrong", None):
        with pytest.raises(ConfigError, match="ssl_keyfile"):
            context_of(
                TlsSettings(
                    certfile=certificates.client, keyfile=certificates.client_key, password=password
                )
            )
    with pytest.raises(ConfigError, match="ssl_certfile"):
        context_of(TlsSettings(keyfile=certificates.client_key))
    bad = "a\0b"
    for files in (TlsSettings(cafile=bad), TlsSettings(certfile=bad), TlsSettings(crlfile=bad)):
        with pytest.raises(ConfigError, match=r"ssl_c\w+file=.*embedded null"):
            context_of(files)
    with pytest.raises(ConfigError, match=r"ssl_keyfile.*longer than 1024 bytes"):
        context_of(
            TlsSettings(
                certfile=certificates.client,
                keyfile=certificates.client_key,
                password="a" * 1_025,
            )
        )
