"""Renders notifications for each kind of target: webhook, alert manager, mail, command. Pure.

Names of groups, hosts and topics are untrusted: they can't start a new line, a header or markup,
and no message is longer than its target accepts.

Source: Slack's incoming webhooks, PagerDuty's Events API v2, Alertmanager's API v2.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from hashlib import blake2b
from typing import Final, TypeAlias

from zkconsumer.notify.outbox import Notification, Status
from zkconsumer.notify.troubles import GroupTrouble
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import Severity, ago, counted
from zkconsumer.web.pages.view import group_address

PREFIX: Final = "ZKCONSUMER_"
"""The prefix of a command's environment variables."""
_VERSION: Final = 1
_SHOWN: Final = 10
_EVIDENCE: Final = 5
_LINE_CHARS: Final = 300
_SUMMARY_CHARS: Final = 1000
_SUBJECT_CHARS: Final = 150
_ID_CHARS: Final = 250
_STANDS_MS: Final = 300_000
"""How long Alertmanager keeps an alert without an update: its own default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationOrigin:
    """The origin of messages.

    Attributes:
        cluster: the name or address of the cluster.
        page: the address of the page, for links; None: no links.
    """

    cluster: str
    page: str | None = None


Template: TypeAlias = Callable[[Sequence[Notification], NotificationOrigin], bytes]


def facts(message: Notification, origin: NotificationOrigin) -> dict[str, object]:
    """Return the content of a message as JSON values; see ``docs/watch.md``."""
    alert, trouble = message.alert, message.alert.trouble
    subject = alert.subject
    return {
        "version": _VERSION,
        "status": message.status.value,
        "id": alert_id(message, origin),
        "cluster": origin.cluster,
        "group": None if subject is None else subject.group_id,
        "kind": None if subject is None else subject.kind.value,
        "severity": alert.severity.name.lower(),
        "code": trouble.code,
        "headline": headline(message),
        "what": _line(trouble.what, _SUMMARY_CHARS),
        "evidence": [_line(line) for line in trouble.evidence[:_EVIDENCE]],
        "repair": _line(trouble.repair, _SUMMARY_CHARS),
        "command": _command(trouble),
        "further_findings": trouble.further,
        "lag": trouble.lag,
        "began_at": instant(alert.began_ms),
        "at": instant(message.at_ms),
        "url": link(message, origin),
    }


def alert_id(message: Notification, origin: NotificationOrigin) -> str:
    """Return an id that all messages about one subject of one cluster share."""
    subject = message.alert.subject
    whose = "cluster" if subject is None else f"{subject.kind.value}/{subject.group_id}"
    text = printable(f"zkconsumer/{origin.cluster}/{whose}")
    if len(text) <= _ID_CHARS:
        return text
    return f"{text[: _ID_CHARS - 33]}/{blake2b(text.encode(), digest_size=16).hexdigest()}"


def headline(message: Notification) -> str:
    """Return the message in one line: the page's headline, and whether it began or ended."""
    alert = message.alert
    name, lasted = alert.severity.name, ago(message.at_ms - alert.began_ms)
    begin = {
        Status.FIRING: name,
        Status.WORSE: f"{name}, worse than before:",
        Status.REMINDER: f"{name} for {lasted} now:",
        Status.RESOLVED: f"RESOLVED after {lasted}:",
    }[message.status]
    return _line(f"{begin} {alert.trouble.headline}")


def link(message: Notification, origin: NotificationOrigin) -> str | None:
    """Return the address of the subject's page."""
    if origin.page is None:
        return None
    base, subject = origin.page.rstrip("/"), message.alert.subject
    return f"{base}/" if subject is None else f"{base}{group_address(subject)}"


def plain_text(message: Notification, origin: NotificationOrigin) -> str:
    """Return the message as several lines of text."""
    return "\n".join(_lines(message, origin, _command(message.alert.trouble)))


def _lines(message: Notification, origin: NotificationOrigin, command: str) -> list[str]:
    alert, trouble, address = message.alert, message.alert.trouble, link(message, origin)
    lines = [headline(message)]
    if message.status is not Status.RESOLVED:
        lines.append(_line(trouble.what, _SUMMARY_CHARS))
        lines += [f"  - {_line(line)}" for line in trouble.evidence[:_EVIDENCE]]
        if trouble.lag is not None:
            lines.append(f"{counted(trouble.lag, 'record')} behind")
        if trouble.repair:
            lines.append(_line(f"What helps: {trouble.repair}", _SUMMARY_CHARS))
        if command:
            lines.append(command)
        if trouble.further:
            lines.append(f"{counted(trouble.further, 'further finding')}")
    whose = "the cluster" if alert.subject is None else str(alert.subject)
    lines.append(f"{_line(whose)}, since {instant(alert.began_ms)}")
    return [*lines, *([address] if address else [])]


def _command(trouble: GroupTrouble) -> str:
    """Return the command if a line can show it unchanged, so that nobody pastes a changed one."""
    return trouble.command if _line(trouble.command, _SUMMARY_CHARS) == trouble.command else ""


def as_json(messages: Sequence[Notification], origin: NotificationOrigin) -> bytes:
    """Return the body in our own format, for targets of the type ``http``."""
    return _dumped(
        {"version": _VERSION, "messages": [facts(message, origin) for message in messages]}
    )


def as_slack(messages: Sequence[Notification], origin: NotificationOrigin) -> bytes:
    """Return the body for an incoming webhook of Slack or a compatible service."""
    texts = [_slack_text(message, origin) for message in messages[:_SHOWN]]
    if len(messages) > _SHOWN:
        texts += [_escaped(headline(message)) for message in messages[_SHOWN:]]
    return _dumped({"text": "\n\n".join([f"*{_escaped(_line(origin.cluster))}*", *texts])})


def _slack_text(message: Notification, origin: NotificationOrigin) -> str:
    command = _command(message.alert.trouble)
    if {"`", "@"} & set(command):
        command = ""  # Slack could not show it unchanged
    first, *rest = (
        f"`{_without_tags(line)}`" if line == command else _escaped(line)
        for line in _lines(message, origin, command)
    )
    sign = {Severity.ERROR: ":red_circle:", Severity.WARNING: ":large_yellow_circle:"}
    is_over = message.status is Status.RESOLVED
    shown = ":large_green_circle:" if is_over else sign[message.alert.severity]
    return "\n".join([f"{shown} *{first}*", *rest])


def _escaped(text: str) -> str:
    """Escape what Slack takes for markup: links, mentions, code."""
    # Services that copied Slack's webhooks take a plain @all for a mention.
    return _without_tags(text).replace("`", "'").replace("@", "@\N{ZERO WIDTH SPACE}")


def _without_tags(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def pagerduty(routing_key: str) -> Template:
    """Return the template of PagerDuty's events, each of which holds one message."""

    def event(messages: Sequence[Notification], origin: NotificationOrigin) -> bytes:
        (message,) = messages
        body: dict[str, object] = {
            "routing_key": routing_key,
            "event_action": "resolve" if message.status is Status.RESOLVED else "trigger",
            "dedup_key": alert_id(message, origin),
        }
        if message.status is not Status.RESOLVED:
            body["payload"] = _pagerduty_payload(message, origin)
            address = link(message, origin)
            if address is not None:
                body["links"] = [{"href": address, "text": "the group's page"}]
        return _dumped(body)

    return event


def _pagerduty_payload(message: Notification, origin: NotificationOrigin) -> dict[str, object]:
    alert = message.alert
    return {
        "summary": headline(message),
        "source": _line(origin.cluster, _SUBJECT_CHARS),
        "severity": "error" if alert.severity is Severity.ERROR else "warning",
        "timestamp": instant(alert.began_ms),
        "component": "the cluster" if alert.subject is None else _line(alert.subject.group_id),
        "class": alert.trouble.code,
        "custom_details": facts(message, origin),
    }


def as_alertmanager(messages: Sequence[Notification], origin: NotificationOrigin) -> bytes:
    """Return the body for Alertmanager, where alerts end unless they are repeated."""
    return _dumped([_alertmanager_alert(message, origin) for message in messages])


def _alertmanager_alert(message: Notification, origin: NotificationOrigin) -> dict[str, object]:
    alert = message.alert
    ends_ms = message.at_ms + (0 if message.status is Status.RESOLVED else _STANDS_MS)
    subject = alert.subject
    # Only labels that don't change during the trouble, since other labels mean another alert.
    labels = {
        "alertname": "ZkconsumerTrouble",
        "cluster": _line(origin.cluster),
        "group": "" if subject is None else _line(subject.group_id),
        "kind": "cluster" if subject is None else subject.kind.value,
    }
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {
            "summary": headline(message),
            "severity": alert.severity.name.lower(),
            "code": alert.trouble.code,
            "description": _line(alert.trouble.what, _SUMMARY_CHARS),
            "repair": _line(alert.trouble.repair, _SUMMARY_CHARS),
            "command": _command(alert.trouble),
        },
        "startsAt": instant(alert.began_ms),
        "endsAt": instant(ends_ms),
        "generatorURL": link(message, origin) or "",
    }


def mail(
    messages: Sequence[Notification],
    origin: NotificationOrigin,
    *,
    sender: str,
    receivers: Sequence[str],
) -> EmailMessage:
    """Return the e-mail of some messages."""
    subject = headline(messages[0])
    if len(messages) > 1:
        subject = f"{subject}, and {len(messages) - 1} more"
    email = EmailMessage()
    email["From"] = sender
    email["To"] = ", ".join(receivers)
    email["Subject"] = _line(f"[{origin.cluster}] {subject}", 2 * _SUBJECT_CHARS)
    email["Date"] = format_datetime(datetime.fromtimestamp(messages[0].at_ms / 1000, UTC))
    # Suppress automatic replies (RFC 3834).
    email["Auto-Submitted"] = "auto-generated"
    email.set_content("\n\n".join(plain_text(message, origin) for message in messages) + "\n")
    return email


def variables(message: Notification, origin: NotificationOrigin) -> Mapping[str, str]:
    """Return the content of a message as environment variables; unknown values are empty."""
    return {
        PREFIX + name.upper(): "" if value is None else printable(str(value))
        for name, value in facts(message, origin).items()
        if not isinstance(value, list)
    }


def instant(at_ms: int) -> str:
    """Return an instant as ISO 8601 in UTC, in whole seconds."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


def _line(text: str, limit: int = _LINE_CHARS) -> str:
    text = printable(text)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()
