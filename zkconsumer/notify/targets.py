"""Sends messages by HTTP, by SMTP or to a command. Each call is bounded in time.

Errors and logs name only the host or program of a target, since addresses may hold secrets.
"""

import contextlib
import io
import json
import logging
import os
import signal
import smtplib
import socket
import ssl
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import SplitResult

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ZkConsumerError
from zkconsumer.net.deadline_socket import DeadlineReader, DeadlineSocket
from zkconsumer.net.http_request import http_request, quoted
from zkconsumer.net.tcp import open_socket
from zkconsumer.notify.outbox import Notification
from zkconsumer.notify.templates import PREFIX, NotificationOrigin, Template, facts, mail, variables
from zkconsumer.printable import printable

log = logging.getLogger(__name__)

_RESPONSE_BYTES: Final = 64 << 10
_REFUSED: Final = frozenset({400, 413, 422})
"""Statuses with which a receiver refuses a message for good; all other errors are retried."""
_SHOWN_CHARS: Final = 200


class NotSent(ZkConsumerError):
    """A message was not accepted, but may be later."""


class Rejected(ZkConsumerError):
    """A message was refused for good."""


class Receiver(Protocol):
    """A receiver of notifications."""

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """Send messages; block for a bounded time.

        Raises:
            NotSent: the messages were not accepted, but may be later.
            Rejected: the messages were refused for good.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class HttpTarget:
    """Posts JSON to an address.

    Attributes:
        url: the address, all of which may be a secret.
        template: renders the body.
        authorization: the value of the ``Authorization`` header; None: none is sent.
        ssl_context: verifies the server; None: with the machine's authorities.
        timeout_ms: the time limit of connecting, and again of the rest.
        secret: a secret that the template contains, which must not be logged.
    """

    url: SplitResult = field(repr=False)
    template: Template = field(repr=False)
    authorization: str | None = field(default=None, repr=False)
    ssl_context: ssl.SSLContext | None = None
    timeout_ms: int = 10_000
    secret: str = field(default="", repr=False)

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """See ``Receiver``."""
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.authorization is not None:
            headers["Authorization"] = self.authorization
        where = f"{self.url.scheme}://{self.url.netloc.rpartition('@')[2]}"
        try:
            status, data = http_request(
                self.url,
                headers=headers,
                body=self.template(messages, origin),
                timeout_ms=self.timeout_ms,
                max_bytes=_RESPONSE_BYTES,
                ssl_context=self.ssl_context,
            )
        except (ZkConsumerError, ValueError) as error:
            raise NotSent(str(error)) from None
        if 200 <= status < 300:
            return
        secrets = f"{self.url.path} {self.url.query} {self.authorization or ''} {self.secret}"
        refused = Rejected if status in _REFUSED else NotSent
        raise refused(f"{where} responded with {status}: {quoted(data, secrets)}")


@dataclass(frozen=True, kw_only=True)
class MailTarget:
    """Sends e-mail.

    Attributes:
        host: the server's host name.
        port: the server's port.
        sender: the sender's address.
        receivers: the addresses of the receivers.
        security: ``starttls``, ``tls`` from the first byte on, or ``none``.
        user: the user name; None: no login.
        password: the password of that user.
        ssl_context: verifies the server; None: with the machine's authorities.
        timeout_ms: half the time limit of a delivery, and the time limit of connecting.
        clock: measures the time-out.
    """

    host: str
    port: int
    sender: str
    receivers: tuple[str, ...]
    security: str = "starttls"
    user: str | None = None
    password: str = field(default="", repr=False)
    ssl_context: ssl.SSLContext | None = None
    timeout_ms: int = 10_000
    clock: Clock = field(default_factory=SystemClock)

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """See ``Receiver``."""
        email = mail(messages, origin, sender=self.sender, receivers=self.receivers)
        context = self.ssl_context or ssl.create_default_context()
        try:
            with _Bounded(self, context if self.security == "tls" else None) as server:
                if self.security == "starttls":
                    server.starttls(context=context)
                if self.user is not None:
                    server.login(self.user, self.password)
                refused = server.send_message(email, self.sender, list(self.receivers))
        except smtplib.SMTPRecipientsRefused as error:
            codes = sorted({code for code, _ in error.recipients.values()})
            raise self._error(codes[0], f"every recipient was refused ({codes})") from None
        except smtplib.SMTPResponseException as error:
            # A str is smtplib's own error about a line that is too long.
            reply = error.smtp_error
            is_text = isinstance(reply, str)
            text = reply if isinstance(reply, str) else reply.decode("utf-8", "replace")
            text = printable(text[:_SHOWN_CHARS])
            # A refused login can be fixed on the server.
            is_passing = is_text or isinstance(error, smtplib.SMTPAuthenticationError)
            code = 0 if is_passing else error.smtp_code
            raise self._error(code, f"{error.smtp_code} {text}") from None
        except (OSError, ValueError) as error:
            reason = printable(str(error))[:_SHOWN_CHARS] or type(error).__name__
            raise self._error(0, reason) from None
        for receiver, (code, _) in refused.items():
            log.warning("%s: recipient %s was refused (%d)", self.host, receiver, code)

    def _error(self, code: int, reason: str) -> ZkConsumerError:
        kind = Rejected if code >= 500 else NotSent
        return kind(f"{self.host}:{self.port}: {reason}")


class _Bounded(smtplib.SMTP):
    """An SMTP connection that ends at a deadline, and limits the size of responses."""

    def __init__(self, target: MailTarget, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._clock = target.clock
        self._deadline_ms = target.clock.now_ms() + 2 * target.timeout_ms
        name = socket.gethostname()  # not the full name, which would need a DNS lookup
        super().__init__(
            target.host,
            target.port,
            name if "." in name else "[127.0.0.1]",
            timeout=target.timeout_ms / 1000,
        )

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        """Connect with a time limit: smtplib would wait for the resolver without one."""
        timeout_ms = round(timeout * 1000)
        return open_socket(host, port, timeout_ms=timeout_ms, clock=self._clock, tls=self._tls)

    def getreply(self) -> tuple[int, bytes]:
        """See ``smtplib.SMTP``."""
        if self.file is None and self.sock is not None:
            bounded = DeadlineSocket(self.sock, self._clock, self._deadline_ms)
            self.file = io.BufferedReader(DeadlineReader(bounded, _RESPONSE_BYTES))
        return super().getreply()


@dataclass(frozen=True, kw_only=True)
class CommandTarget:
    """Runs a program, without a shell, for each message.

    Attributes:
        argv: the program and its arguments, which contain nothing from a message.
        timeout_ms: the time after which the program and its children are killed.
    """

    argv: tuple[str, ...]
    timeout_ms: int = 30_000
    _aborted: threading.Event = field(
        default_factory=threading.Event, init=False, repr=False, compare=False
    )
    _running: set[int] = field(default_factory=set, init=False, repr=False, compare=False)

    def abort(self) -> None:
        """Kill the running program, and start no other. Thread: any."""
        self._aborted.set()
        for group in list(self._running):
            _kill(group)

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """See ``Receiver``."""
        for message in messages:
            self._run(
                json.dumps(facts(message, origin)).encode() + b"\n",
                {**_environment(), **variables(message, origin)},
            )

    def _run(self, data: bytes, environment: Mapping[str, str]) -> None:
        if self._aborted.is_set():
            raise NotSent("zkconsumer is shutting down")
        try:
            # In its own session, so that its children can be killed with it.
            process = subprocess.Popen(  # noqa: S603 - the operator's own
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise NotSent(f"{printable(self.argv[0])}: {error}") from None
        with process:
            self._running.add(process.pid)
            try:
                process.communicate(data, 0 if self._aborted.is_set() else self.timeout_ms / 1000)
            except subprocess.TimeoutExpired:
                raise NotSent(f"{printable(self.argv[0])} timed out and was killed") from None
            finally:
                _kill(process.pid)
                self._running.discard(process.pid)
        if process.returncode:
            raise NotSent(f"{printable(self.argv[0])} exited with status {process.returncode}")


def _kill(group: int) -> None:
    """Kill a process with its children, unless it has ended or runs as another user."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """Return this process's environment without our own variables, which may hold secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
