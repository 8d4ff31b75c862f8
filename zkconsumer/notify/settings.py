"""The settings of notifications: ``[notify]`` of the configuration file.

``docs/watch.md`` describes each key. Secrets can be in separate files, which are read once.
"""

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean
from zkconsumer.net.security import TlsSettings
from zkconsumer.net.tls import FileSettings, context_of
from zkconsumer.notify.alerts import Timing
from zkconsumer.notify.notifier import Route
from zkconsumer.notify.outbox import Policy
from zkconsumer.notify.quiet import DAYS, QuietHours
from zkconsumer.notify.targets import CommandTarget, HttpTarget, MailTarget, Receiver
from zkconsumer.notify.templates import Template, as_alertmanager, as_json, as_slack, pagerduty
from zkconsumer.status.doctor.diagnosis import Severity

T = TypeVar("T")

_PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
_ALERTMANAGER_PATH: Final = "/api/v2/alerts"
_ALERTMANAGER_REPEAT_MS: Final = 60_000
_SECRETS: Final = frozenset({"url", "token", "password", "routing-key"})
_MOST_MS: Final = 10**10
_SECRET_BYTES: Final = 16 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifySettings:
    """The targets, and the alerts that each gets.

    Attributes:
        routes: the targets; empty: no notifications.
        timing: how long a trouble has to last.
        page: the address of the page, for links.
    """

    routes: tuple[Route, ...] = ()
    timing: Timing = field(default_factory=Timing)
    page: str | None = None


def read_notify_settings(table: Mapping[str, object]) -> NotifySettings:
    """Read ``[notify]``, and the files that it names.

    Raises:
        ConfigError: a key or value is invalid, or a file can't be read.
    """
    keys = _Keys("[notify]", table)
    known = Timing()
    timing = Timing(
        after_ms=keys.number("after-ms", known.after_ms, least=0),
        resolved_after_ms=keys.number("resolved-after-ms", known.resolved_after_ms, least=0),
        flap_window_ms=keys.number("flap-window-ms", known.flap_window_ms, least=0),
    )
    page = keys.url("page-url", None)
    policy = _policy(keys, Policy())
    targets = keys.tables("to")
    keys.end()
    return NotifySettings(
        routes=tuple(_route(name, target, policy) for name, target in targets.items()),
        timing=timing,
        page=None if page is None else page.geturl(),
    )


class _Keys:
    """Reads the values of a table, and remembers which keys were read."""

    def __init__(self, name: str, table: Mapping[str, object]) -> None:
        self.name = name
        self._table = table
        self._known: set[str] = set()

    def end(self) -> None:
        """Refuse keys that were not read."""
        for key in self._table:
            if key not in self._known:
                similar = did_you_mean(key, sorted(self._known))
                raise ConfigError(f"{self.name} has no {key}{similar}")

    def text(self, key: str, default: str | None = None) -> str | None:
        """Return a text of one line."""
        value = self._take(key, default, str, "a string")
        if value is not None and (not value or not value.isprintable()):
            raise self.wrong(key, "it must be one line of text, and not empty")
        return value

    def required(self, key: str) -> str:
        """Return the text of a required key."""
        value = self.text(key)
        if value is None:
            raise ConfigError(f"{self.name} needs {key}")
        return value

    def secret(self, key: str) -> str | None:
        """Return a secret: its own value, or the only line of the file named by ``<key>-file``."""
        path, value = self.text(f"{key}-file"), self.text(key)
        if path is None or value is not None:
            if path is not None:
                raise ConfigError(f"{self.name}: give {key} or {key}-file, not both")
            return value
        try:
            with Path(path).open(encoding="utf-8") as file:
                line = file.read(_SECRET_BYTES).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.name}: {key}-file {path} can't be read: {error}") from None
        if not line or not line.isprintable():
            raise ConfigError(f"{self.name}: {key}-file {path} must contain exactly one line")
        return line

    def number(self, key: str, default: int, *, least: int = 1, most: int = _MOST_MS) -> int:
        """Return an integer."""
        value = self._take(key, default, int, "a number")
        if value is None or isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(key, f"it must be a number from {least} to {most}")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return a value that must be one of the choices."""
        value = self.text(key, default)
        if value not in choices:
            raise self.wrong(key, f"it must be one of {', '.join(choices)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._take(key, [], list, "a list of strings") or []
        if not all(isinstance(text, str) and text.isprintable() for text in value):
            raise self.wrong(key, "it must be a list of strings")
        return tuple(value)

    def tables(self, key: str) -> Mapping[str, Mapping[str, object]]:
        """Return tables by name."""
        value = self._take(key, {}, dict, "a table of tables") or {}
        if not all(isinstance(table, dict) for table in value.values()):
            raise self.wrong(key, f"write each as a table {self.name[:-1]}.{key}.NAME]")
        return dict(value)

    def raw(self, key: str) -> object:
        """Return a value of any type; None if there is none."""
        self._known.add(key)
        return self._table.get(key)

    def url(self, key: str, text: str | None) -> SplitResult | None:
        """Return a parsed address; errors quote no part of it, which may be a secret."""
        text = text or self.text(key)
        if text is None:
            return None
        refused = ConfigError(f"{self.name}: {key} must be an http:// or https:// URL")
        try:
            url = urlsplit(text)
            good = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
        except ValueError:
            raise refused from None
        if not good or not (text.isascii() and text.isprintable()) or " " in text:
            raise refused
        return url

    def wrong(self, key: str, wanted: str) -> ConfigError:
        """Return the error of an invalid value."""
        shown = "" if key in _SECRETS else f" is {self._table.get(key)!r}"
        return ConfigError(f"{self.name}: {key}{shown}: {wanted}")

    def _take(self, key: str, default: T | None, kind: type[T], wanted: str) -> T | None:
        self._known.add(key)
        value = self._table.get(key, default)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(key, f"it must be {wanted}")
        return value


def _route(name: str, table: Mapping[str, object], general: Policy) -> Route:
    keys = _Keys(f"[notify.to.{name}]", table)
    kind = keys.choice("type", tuple(_TARGETS), "")
    target, batch = _TARGETS[kind](keys)
    default_ms = _ALERTMANAGER_REPEAT_MS if kind == "alertmanager" else general.repeat_ms
    policy = _policy(keys, replace(general, repeat_ms=default_ms, batch=batch))
    keys.end()
    return Route(name=name, target=target, policy=policy)


def _policy(keys: _Keys, general: Policy) -> Policy:
    severity = keys.choice("severity", ("warning", "error"), general.severity.name.lower())
    repeat_ms = keys.number("repeat-ms", general.repeat_ms or 0, least=0)
    quiet = keys.raw("quiet")
    return replace(
        general,
        severity=Severity[severity.upper()],
        silenced=(*general.silenced, *(_pattern(keys, text) for text in keys.texts("silence"))),
        quiet=general.quiet if quiet is None else tuple(_quiet_hours(keys, quiet)),
        repeat_ms=repeat_ms or None,
    )


def _pattern(keys: _Keys, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise keys.wrong("silence", f"{text!r} is not a regular expression: {error}") from None


def _quiet_hours(keys: _Keys, value: object) -> list[QuietHours]:
    found = []
    for table in value if isinstance(value, list) else [value]:
        if not isinstance(table, dict):
            raise keys.wrong("quiet", 'it must be a table: { from = "22:00", to = "07:00" }')
        hours = _Keys(f"{keys.name} quiet", table)
        zone, days = hours.required("zone"), hours.texts("days")
        if not set(days) <= set(DAYS):
            raise hours.wrong("days", f"it must be a list of some of {', '.join(DAYS)}")
        try:
            where = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise hours.wrong("zone", "it must be a time zone like Europe/Berlin or UTC") from None
        found.append(
            QuietHours(
                begin=_minutes(hours, "from"),
                end=_minutes(hours, "to"),
                zone=where,
                days=frozenset(map(DAYS.index, days or DAYS)),
            )
        )
        hours.end()
    return found


def _minutes(keys: _Keys, key: str) -> int:
    match = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", keys.required(key))
    if match is None:
        raise keys.wrong(key, "it must be a time like 22:00")
    return int(match[1]) * 60 + int(match[2])


def _http(keys: _Keys, template: Template, text: str | None = None, path: str = "") -> HttpTarget:
    url = keys.url("url", text or keys.secret("url"))
    if url is None:
        raise ConfigError(f"{keys.name} needs url or url-file")
    token = keys.secret("token")
    return HttpTarget(
        url=url._replace(path=url.path.rstrip("/") + path) if path else url,
        template=template,
        authorization=None if token is None else f"Bearer {token}",
        ssl_context=_ssl_context(keys),
        timeout_ms=keys.number("timeout-ms", 10_000, least=100, most=600_000),
    )


def _ssl_context(keys: _Keys) -> ssl.SSLContext | None:
    path = keys.text("ca-file")
    names = FileSettings(authorities=f"{keys.name}: ca-file")
    return None if path is None else context_of(TlsSettings(cafile=path), names=names)


def _posting(template: Template, path: str = "") -> Callable[["_Keys"], tuple[Receiver, int]]:
    return lambda keys: (_http(keys, template, path=path), Policy().batch)


def _pagerduty(keys: _Keys) -> tuple[Receiver, int]:
    key = keys.secret("routing-key")
    if key is None:
        raise ConfigError(f"{keys.name} needs routing-key-file or routing-key")
    target = _http(keys, pagerduty(key), keys.secret("url") or _PAGERDUTY)
    return replace(target, secret=key), 1


def _mail(keys: _Keys) -> tuple[Receiver, int]:
    security = keys.choice("security", ("starttls", "tls", "none"), "starttls")
    user, password = keys.text("user"), keys.secret("password")
    if (user is None) != (password is None):
        raise ConfigError(f"{keys.name}: give user and password-file, or neither")
    receivers = keys.texts("to")
    if not receivers or not all(_is_address(receiver) for receiver in receivers):
        raise ConfigError(f"{keys.name} needs 'to': a list of e-mail addresses")
    sender = keys.required("from")
    if not _is_address(sender):
        raise keys.wrong("from", "it must be an e-mail address")
    target = MailTarget(
        host=keys.required("host"),
        port=keys.number("port", 465 if security == "tls" else 587, most=65_535),
        sender=sender,
        receivers=receivers,
        security=security,
        user=user,
        password=password or "",
        ssl_context=_ssl_context(keys),
        timeout_ms=keys.number("timeout-ms", 10_000, least=100, most=600_000),
    )
    return target, Policy().batch


def _is_address(text: str) -> bool:
    return re.fullmatch(r"[!-~]+@[!-~]+", text) is not None and not set(text) & set(',;:<>"()')


def _command(keys: _Keys) -> tuple[Receiver, int]:
    argv = keys.texts("argv")
    if not argv or not argv[0]:
        raise ConfigError(f"{keys.name} needs argv: a list of the program and its arguments")
    # One message per delivery, so that only a failed message is sent again.
    return CommandTarget(argv=argv, timeout_ms=keys.number("timeout-ms", 30_000, least=100)), 1


_TARGETS: Final[Mapping[str, Callable[[_Keys], tuple[Receiver, int]]]] = {
    "http": _posting(as_json),
    "slack": _posting(as_slack),
    "pagerduty": _pagerduty,
    "alertmanager": _posting(as_alertmanager, _ALERTMANAGER_PATH),
    "email": _mail,
    "command": _command,
}
