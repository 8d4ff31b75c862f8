"""TLS over any transport: ``ssl`` only encrypts and decrypts, the transport does the I/O.

So closing from another thread, wake-ups and time-outs work as in the transport below.
"""

import contextlib
import ssl
from collections.abc import Iterator
from typing import Final, NamedTuple

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import (
    AuthenticationFailed,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    RequestTimedOut,
    TransportError,
)
from zkconsumer.net.security import SecuritySettings, TlsSettings
from zkconsumer.net.transport import Transport

_READ_BYTES = 1 << 17
_ALERT_WAIT_MS = 100
_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "RECORD_LAYER_FAILURE",
    "UNKNOWN_PROTOCOL",
)
_OF_CERTIFICATES: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""Substrings of the alerts of a peer that refuses our certificate, or requires one."""


class FileSettings(NamedTuple):
    """The names of the settings for the files of an SSL context, for errors."""

    authorities: str = "ssl_cafile"
    certificate: str = "ssl_certfile"
    key: str = "ssl_keyfile"


def context_of(
    files: TlsSettings,
    *,
    names: FileSettings = FileSettings(),  # noqa: B008 - it never changes
) -> ssl.SSLContext:
    """Return an SSL context that verifies servers and presents our certificate.

    Args:
        files: the PEM files and options.
        names: the names of the settings, for errors.

    Raises:
        ConfigError: a file can't be read, or is of the wrong kind; names it.
    """
    cafile, certfile, keyfile = files.cafile, files.certfile, files.keyfile
    try:
        context = ssl.create_default_context(cafile=None if cafile is None else str(cafile))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{names.authorities}={str(cafile)!r}: {error}") from error
    context.check_hostname = files.check_hostname
    if certfile is not None:
        try:
            # An encrypted key must not make OpenSSL prompt on the terminal.
            context.load_cert_chain(certfile, keyfile, files.password or "")
        except (OSError, ValueError) as error:
            reported = f"{names.certificate}={str(certfile)!r}"
            reported += f", {names.key}={str(keyfile)!r}" if keyfile is not None else ""
            raise ConfigError(f"{reported}: {error}") from error
    elif keyfile is not None:
        raise ConfigError(
            f"{names.key}={str(keyfile)!r} needs its certificate: {names.certificate}"
        )
    _restrict(context, files)
    return context


def context_for(security: SecuritySettings) -> ssl.SSLContext | None:
    """Return the SSL context for connections to brokers; None without TLS.

    Raises:
        ConfigError: a file can't be read, or is of the wrong kind; names it.
    """
    if not security.uses_tls or security.ssl_context is not None:
        return security.ssl_context
    return context_of(security.tls)


def _restrict(context: ssl.SSLContext, files: TlsSettings) -> None:
    ciphers, crlfile = files.ciphers, files.crlfile
    if ciphers is not None:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError as error:
            raise ConfigError(f"ssl_ciphers={ciphers!r}: {error}") from error
    if crlfile is not None:
        try:
            context.load_verify_locations(crlfile)
        except (OSError, ValueError) as error:
            raise ConfigError(f"ssl_crlfile={str(crlfile)!r}: {error}") from error
        # As in kafka-python: check the broker's own certificate, not the CAs above it.
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


class TlsTransport:
    """Encrypts another transport; call ``handshake`` first. Thread: as the inner transport.

    Args:
        inner: a connected transport, which this object owns.
        context: verifies the peer.
        host: the peer's name, which its certificate must match.
        clock: for time-outs, since a TLS record may arrive in many pieces.
    """

    def __init__(
        self,
        inner: Transport,
        context: ssl.SSLContext,
        host: str,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._inner = inner
        self._clock = clock or SystemClock()
        self._timeout_ms = 0
        self._closed = False
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._chunk = bytearray(_READ_BYTES)

    @property
    def address(self) -> str:
        """See ``Transport``."""
        return self._inner.address

    def handshake(self, *, timeout_ms: int) -> None:
        """Do the TLS handshake, which verifies the peer.

        Raises:
            AuthenticationFailed: one side does not trust the other, or the peer does not use TLS.
            ConnectFailed: the peer closed the connection.
            RequestTimedOut: the peer did not finish in time.
        """
        self._timeout_ms = timeout_ms
        deadline_ms = self._clock.now_ms() + timeout_ms
        try:
            while not self._handshaken():
                self._flush()
                self._receive_more(deadline_ms)
            self._flush()
        except (ssl.SSLEOFError, ConnectionLost) as error:
            self._require_open()
            raise ConnectFailed(
                f"{self.address}: closed the connection during the TLS handshake, as a port "
                "without TLS does (security_protocol)"
            ) from error
        except ssl.SSLError as error:
            # Send the peer an alert with the reason.
            with contextlib.suppress(TransportError):
                self._flush()
            raise self._distrust(error) from error

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """See ``Transport``."""
        self._timeout_ms = timeout_ms
        self._inner.set_timeout_ms(timeout_ms)

    def send(self, data: bytes) -> None:
        """See ``Transport``."""
        with self._mapped():
            rest = memoryview(data)
            while rest:
                rest = rest[self._tls.write(rest) :]
        try:
            self._flush()
        except ConnectionLost:
            self._failure_reason()
            raise

    def receive_into(self, buffer: memoryview) -> int:
        """See ``Transport``."""
        deadline_ms = self._clock.now_ms() + self._timeout_ms
        while True:
            self._require_open()
            count = self._decrypt(buffer)
            if count is not None:
                return count
            self._flush()
            self._receive_more(deadline_ms)

    def _decrypt(self, buffer: memoryview) -> int | None:
        """Decrypt what has arrived, unless some is damaged; return None if no record is whole."""
        filled = 0
        with self._mapped():
            try:
                # 0: the peer has ended the stream in the orderly way.
                while filled < len(buffer) and (count := self._read_record(buffer[filled:])):
                    filled += count
            except ssl.SSLWantReadError:
                return filled or None
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                pass
        return filled

    def _read_record(self, buffer: memoryview) -> int:
        # With a buffer, ``read`` returns the number of bytes.
        return self._tls.read(len(buffer), buffer)  # type: ignore[return-value]

    def close(self) -> None:
        """See ``Transport``."""
        self._closed = True
        self._inner.close()

    def _handshaken(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _receive_more(self, deadline_ms: int) -> None:
        left_ms = deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            raise RequestTimedOut(f"{self.address}: no response in time")
        self._inner.set_timeout_ms(left_ms)
        count = self._inner.receive_into(memoryview(self._chunk))
        if count:
            self._incoming.write(memoryview(self._chunk)[:count])
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._inner.set_timeout_ms(self._timeout_ms)
            self._inner.send(self._outgoing.read())

    def _failure_reason(self) -> None:
        """Raise the error of the peer's alert, if it sent one before it closed the connection."""
        with contextlib.suppress(TransportError), self._mapped():
            self._receive_more(self._clock.now_ms() + _ALERT_WAIT_MS)
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
                self._tls.read(1)

    def _require_open(self) -> None:
        # Otherwise decrypted bytes could still be read.
        if self._closed:
            raise ConnectionLost(f"{self.address}: closed by us")

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except ssl.SSLError as error:
            # In TLS 1.3 a peer refuses our certificate only after the handshake.
            if any(word in (error.reason or "") for word in _OF_CERTIFICATES):
                raise self._distrust(error) from error
            raise ConnectionLost(f"{self.address}: TLS failed: {error}") from error

    def _distrust(self, error: ssl.SSLError) -> AuthenticationFailed:
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = (
                f"its certificate is not trusted: {error.verify_message} (give the authority that "
                "signed it by ssl_cafile; ssl_check_hostname=False accepts another host's)"
            )
        elif error.reason in _NOT_TLS:
            reason = "it does not use TLS (security_protocol)"
        else:
            # The text of the peer's alert, or of what some brokers send instead.
            words = (error.reason or str(error)).lower().replace("_", " ")
            reason = (
                f"it refuses this client: {words} (if it requires a client certificate, give one "
                "that it trusts by ssl_certfile and ssl_keyfile)"
            )
        return AuthenticationFailed(f"{self.address}: no TLS: {reason}")
