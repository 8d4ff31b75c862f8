"""GSSAPI authentication with Kerberos tickets (RFC 4752); the only importer of ``gssapi``.

The library contacts the KDC itself, as configured in ``krb5.conf``, including its time limits: the
calls can't be interrupted.
"""

import itertools
import os
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from zkconsumer.errors import AuthenticationFailed, ConfigError, ConnectFailed
from zkconsumer.forking import ForkedLock
from zkconsumer.net.kerberos import KerberosSettings, is_of, layer_response, read_keytab
from zkconsumer.net.mechanism import Mechanism
from zkconsumer.printable import printable

_RENEWED_AT: Final = 0.2
"""A ticket with less than this share of its lifetime left is renewed for a new connection."""
_SHOWN_CHARS: Final = 300

# Error codes of MIT Kerberos, as GSSAPI passes them on.
_TABLE: Final = 2_529_638_912
_UNKNOWN_CLIENT, _UNKNOWN_SERVICE, _WRONG_KEY = _TABLE + 6, _TABLE + 7, _TABLE + 31
_EXPIRED: Final = _TABLE + 32
_UNREACHABLE: Final = frozenset({_TABLE + 29, _TABLE + 156})
"""The codes of a busy KDC, and of an unreachable one."""
_ROUTINE_ERROR: Final = 0xFF << 16
_CREDENTIALS_EXPIRED: Final = 11 << 16
"""GSS_S_CREDENTIALS_EXPIRED of RFC 2744, section 3.9.1."""

_MISSING: Final = (
    "sasl_mechanism=GSSAPI needs the Python package gssapi: pip install 'zkconsumer[kerberos]'. It "
    "is compiled against the headers of MIT Kerberos: apt-get install gcc python3-dev libkrb5-dev, "
    "or dnf install gcc python3-devel krb5-devel"
)
_caches = itertools.count(1)


class KerberosLogin:
    """Holds our Kerberos credentials, which all connections share. Thread: any.

    With a keytab, a ticket is requested when first needed, and again for a new connection when
    little of its lifetime is left. Without a keytab, the ticket cache of ``kinit`` is read again
    for each connection.

    Args:
        settings: our principal and the brokers' service name.

    Raises:
        ConfigError: the library is not installed, or the keytab can't be used; names the setting.

    Example:
        >>> login = KerberosLogin(KerberosSettings(keytab="/etc/app.keytab"))  # doctest: +SKIP
        >>> token = login.conversation_with("broker-1").first()  # doctest: +SKIP
    """

    def __init__(self, settings: KerberosSettings) -> None:
        self._library = _library()
        self._settings = settings
        if settings.keytab is not None:
            check_keytab(settings.keytab, settings.principal)
        self._lock = ForkedLock()
        self._credentials: Any = None
        self._lifetime_s = 0

    def conversation_with(self, host: str) -> Mechanism:
        """Begin a GSSAPI conversation with the broker at ``host``.

        Raises:
            AuthenticationFailed: no ticket can be obtained.
            ConnectFailed: no KDC responds; a retry may succeed.
        """
        credentials = self._current()
        return _Gssapi(self._library, credentials, self._settings, host)

    def _current(self) -> Any:
        if self._settings.keytab is None:
            return self._acquired({})
        with self._lock:
            if self._credentials is None or self._left_s() <= self._lifetime_s * _RENEWED_AT:
                # A new cache: other threads may be reading the previous one.
                cache = f"MEMORY:zkconsumer-{os.getpid()}-{next(_caches)}"
                keytab = f"FILE:{self._settings.keytab}"
                self._credentials = self._acquired({"client_keytab": keytab, "ccache": cache})
                self._lifetime_s = self._left_s()
            return self._credentials

    def _left_s(self) -> int:
        try:
            return _seconds_of(self._credentials)
        except self._library.exceptions.GSSError:
            return 0

    def _acquired(self, store: dict[str, str]) -> Any:
        library, settings = self._library, self._settings
        try:
            name = None
            if settings.principal is not None:
                name = library.Name(settings.principal, library.NameType.kerberos_principal)
            credentials = library.Credentials(usage="initiate", name=name, store=store or None)
            # Only this makes the library contact a KDC.
            if _seconds_of(credentials) <= 0:
                raise AuthenticationFailed(_advised("the ticket expired", _EXPIRED, settings, ""))
        except library.exceptions.GSSError as error:
            raise _message(error, settings, "") from error
        return credentials


class _Gssapi:
    """One conversation: tokens until both sides are authenticated, then the security layers."""

    def __init__(
        self, library: Any, credentials: Any, settings: KerberosSettings, host: str
    ) -> None:
        self._library = library
        self._settings = settings
        self._service = settings.service_at(host)
        self._name = str(credentials.name)
        self._is_over = False
        flags = library.RequirementFlag
        try:
            self._context = library.SecurityContext(
                name=library.Name(self._service, library.NameType.hostbased_service),
                creds=credentials,
                usage="initiate",
                mech=library.MechType.kerberos,
                flags=[
                    flags.mutual_authentication,
                    flags.integrity,
                    flags.out_of_sequence_detection,
                ],
            )
        except library.exceptions.GSSError as error:
            raise _message(error, settings, self._service) from error

    @property
    def is_unanswered(self) -> bool:
        """See ``Mechanism``."""
        return self._is_over

    def first(self) -> bytes:
        """See ``Mechanism``."""
        return self._stepped(None)

    def response(self, challenge: bytes) -> bytes | None:
        """See ``Mechanism``."""
        if self._is_over:
            return None
        if not self._context.complete:
            return self._stepped(challenge)
        try:
            offer = self._context.unwrap(challenge).message
            response: bytes = self._context.wrap(
                layer_response(offer, self._name), encrypt=False
            ).message
        except self._library.exceptions.GSSError as error:
            raise _message(error, self._settings, self._service) from error
        self._is_over = True
        return response

    def _stepped(self, challenge: bytes | None) -> bytes:
        try:
            token: bytes | None = self._context.step(challenge)
        except self._library.exceptions.GSSError as error:
            raise _message(error, self._settings, self._service) from error
        return token or b""


def check_keytab(path: str, principal: str | None) -> None:
    """Check that a keytab holds keys, and one of the principal if that is given.

    Raises:
        ConfigError: it does not, or can't be read; names the setting.
    """
    try:
        entries = read_keytab(Path(path).read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"sasl_kerberos_keytab={path!r} can't be read: {reason}") from error
    except ValueError as error:
        raise ConfigError(f"sasl_kerberos_keytab={path!r}: {error}") from error
    known = sorted({entry.principal for entry in entries})
    if not known:
        raise ConfigError(f"sasl_kerberos_keytab={path!r}: it holds no key")
    if principal is not None and not any(is_of(credential, principal) for credential in known):
        raise ConfigError(
            f"sasl_kerberos_principal={principal!r}: {path} holds keys of {', '.join(known)} only"
        )


def _library() -> Any:
    """Import ``gssapi``, which declares no types.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        return import_module("gssapi")
    except (ImportError, OSError) as error:  # OSError: the system's libraries are missing
        raise ConfigError(f"{_MISSING} ({error})") from error


def _seconds_of(credentials: Any) -> int:
    """Return the remaining lifetime in seconds; a day if the credentials do not expire."""
    left_s: int | None = credentials.lifetime
    return 86_400 if left_s is None else left_s


def _message(error: Any, settings: KerberosSettings, service: str) -> Exception:
    """Return an error with the library's message, on one line, and the setting to change."""
    # For an expired ticket the table has no text, or only "Success".
    is_expired = error.maj_code & _ROUTINE_ERROR == _CREDENTIALS_EXPIRED
    code = error.maj_code if is_expired else error.min_code
    try:
        texts = error.get_all_statuses(code, is_maj=is_expired)
    except Exception:  # noqa: BLE001 - describing an error may fail in any way
        texts = [str(error)]
    text = printable("; ".join(texts))[:_SHOWN_CHARS]
    if error.min_code in _UNREACHABLE:
        return ConnectFailed(f"no Kerberos ticket: {text} (krb5.conf says where KDCs are)")
    known = _EXPIRED if is_expired else code
    return AuthenticationFailed(_advised(text, known, settings, service))


def _advised(text: str, code: int, settings: KerberosSettings, service: str) -> str:
    keytab = settings.keytab
    if service:
        about = f"no ticket for {service}: {text}"
        if code == _UNKNOWN_SERVICE:
            return f"{about} (sasl_kerberos_service_name, sasl_kerberos_domain_name)"
        return about if code != _EXPIRED or keytab else f"{about}: run kinit again"
    if keytab is None:
        who = f" of {settings.principal}" if settings.principal else ""
        return f"no Kerberos ticket{who}: {text}: run kinit, or set sasl_kerberos_keytab"
    if code in (_WRONG_KEY, _UNKNOWN_CLIENT):
        return f"the KDC rejects the key of sasl_kerberos_keytab={keytab!r}: {text}"
    return f"no ticket with sasl_kerberos_keytab={keytab!r}: {text}"
