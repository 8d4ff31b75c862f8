"""Messages to real receivers: HTTP, SMTP, a program."""

import json
import logging
import re
import socket
import ssl
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email import message_from_bytes
from email.policy import SMTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.support.alerting import COMMAND, message
from tests.support.certificates import Certificates, certificates
from tests.support.manual_clock import ManualClock
from tests.support.page_world import SETTLEMENT, snapshot_at, state_at
from tests.support.waiting import wait_until
from zkconsumer.notify.alerts import Timing
from zkconsumer.notify.notifier import Notifier, Route
from zkconsumer.notify.outbox import Notification, Policy, Status
from zkconsumer.notify.targets import CommandTarget, HttpTarget, MailTarget, NotSent, Rejected
from zkconsumer.notify.templates import (
    NotificationOrigin,
    Template,
    as_alertmanager,
    as_json,
    as_slack,
    pagerduty,
)
from zkconsumer.scope import ThreadScope
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState

__all__ = ["certificates"]

ORIGIN = NotificationOrigin(cluster="plant")


class Receiver:
    """An HTTP server that records its requests.

    Attributes:
        got: path, headers and body of each request.
        statuses: the statuses of the next responses; then 200.
        port: where it listens.
    """

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.statuses: list[int] = []
        self.port = 0


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run a receiver."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.got.append((self.path, dict(self.headers), body))
            self.send_response(made.statuses.pop(0) if made.statuses else 200)
            self.end_headers()
            self.wfile.write(b"said\n")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        scope = ThreadScope("receiver")
        scope.spawn("serve", lambda: server.serve_forever(0.02), stop=server.shutdown)
        try:
            yield made
        finally:
            assert scope.close(10_000) == []


def http(port: int, timeout_ms: int = 5_000) -> HttpTarget:
    """Return a target whose address and header are secrets."""
    url = urlsplit(f"http://127.0.0.1:{port}/services/hidden?key=hidden")
    return HttpTarget(
        url=url, template=as_slack, authorization="Bearer hidden", timeout_ms=timeout_ms
    )


def test_http_posts_and_checks_the_response(receiver: Receiver) -> None:
    """A 2xx status is success; a permanent refusal is another error than one that may pass."""
    target = http(receiver.port)
    target.send([message()], ORIGIN)
    ((path, headers, body),) = receiver.got
    assert path == "/services/hidden?key=hidden"
    assert headers["Authorization"] == "Bearer hidden"
    assert headers["Content-Type"] == "application/json"
    assert "settlement is stuck: settlement_host7 is registered but gone" in body["text"]
    for status, error in ((400, Rejected), (404, NotSent), (429, NotSent), (503, NotSent)):
        receiver.statuses = [status]
        with pytest.raises(error, match=f"responded with {status}: said") as refused:
            target.send([message()], ORIGIN)
        assert "hidden" not in str(refused.value)


@contextmanager
def responding(data: bytes) -> Iterator[int]:
    """Run a server that sends the same data to one client, and closes; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            accepted, _ = server.accept()
            with accepted:
                accepted.sendall(data)
                accepted.shutdown(socket.SHUT_WR)
                while accepted.recv(65_536):
                    pass

        scope = ThreadScope("talker")
        scope.spawn("talk", talk, stop=lambda: None)
        yield server.getsockname()[1]
        assert scope.close(10_000) == []


def test_a_secret_in_a_receivers_response_is_not_shown() -> None:
    """Error pages repeat the path, and some the key."""
    page = b"Cannot POST /services/hidden?key=hidden for Bearer hidden of R0-hidden"
    head = b"HTTP/1.1 404 No\r\nContent-Length: %d\r\n\r\n" % len(page)
    with responding(head + page) as port:
        with pytest.raises(NotSent, match="responded with 404: Cannot POST") as refused:
            replace(http(port), secret="R0-hidden").send([message()], ORIGIN)
        assert "hidden" not in str(refused.value)


def test_an_invalid_response_is_a_short_error() -> None:
    """The error is short, however long the response is."""
    with responding(b"x" * 60_000 + b"\r\n") as port:
        with pytest.raises(NotSent) as refused:
            http(port).send([message()], ORIGIN)
        assert len(str(refused.value)) < 500


def test_a_mail_server_with_an_endless_line_is_an_error() -> None:
    """The mail does not count as refused for good."""
    with responding(b"220 " + b"x" * 9_000 + b"\r\n") as port:
        target = MailTarget(host="127.0.0.1", port=port, sender="a@b.c", receivers=("d@e.f",))
        with pytest.raises(NotSent, match="too long"):
            target.send([message()], ORIGIN)


def test_a_server_that_hangs_takes_no_longer_than_the_timeout() -> None:
    """It accepts connections, and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(NotSent, match="timed out"):
            http(server.getsockname()[1], 200).send([message()], ORIGIN)
        mail = MailTarget(
            host="127.0.0.1",
            port=server.getsockname()[1],
            sender="a@b.c",
            receivers=("d@e.f",),
            timeout_ms=200,
        )
        with pytest.raises(NotSent, match="timed out"):
            mail.send([message()], ORIGIN)


class Mailbox:
    """The mails that an SMTP server got."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    async def handle_RCPT(  # noqa: N802
        self, _server: object, _session: object, envelope: Any, address: str, _options: object
    ) -> str:
        """Accept all recipients but those that left."""
        if address.startswith("left@"):
            return "550 unknown"
        envelope.rcpt_tos.append(address)
        return "250 known"

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802
        """Accept a mail."""
        self.got.append(envelope)
        return "250 taken"


@contextmanager
def mail_server(certificates: Certificates, **settings: Any) -> Iterator[tuple[Mailbox, int]]:
    """Run an SMTP server that requires STARTTLS and a login, unless settings change that."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker)
    box = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    def logged_in(
        _server: object, _session: object, _envelope: object, _how: str, data: Any
    ) -> Any:
        return AuthResult(success=data.password == b"hidden", handled=False)

    controller = Controller(
        box,
        hostname="127.0.0.1",
        port=port,
        **{
            "tls_context": context,
            "require_starttls": True,
            "auth_required": True,
            "authenticator": logged_in,
            **settings,
        },
    )
    controller.start()
    try:
        yield box, port
    finally:
        controller.stop()


def mail_to(port: int, certificates: Certificates, **settings: Any) -> MailTarget:
    """Return a target that logs in."""
    context = ssl.create_default_context(cafile=str(certificates.authority))
    given = {"user": "kafka", "password": "hidden", "ssl_context": context, **settings}
    return MailTarget(
        host="localhost", port=port, sender="kafka@e.org", receivers=("ops@e.org",), **given
    )


def test_mail_is_sent_over_starttls_after_a_login(certificates: Certificates) -> None:
    """A wrong password and an untrusted certificate are errors that show no secret."""
    with mail_server(certificates) as (box, port):
        mail_to(port, certificates).send([message(), message(Status.RESOLVED)], ORIGIN)
        (envelope,) = box.got
        assert envelope.rcpt_tos == ["ops@e.org"]
        mail = message_from_bytes(envelope.content, policy=SMTP)
        assert mail["Subject"].startswith(
            "[plant] ERROR settlement is stuck: settlement_host7 is registered but gone"
        )
        text = mail.get_content()
        assert COMMAND in text.splitlines()
        assert "RESOLVED after 5 min: settlement is stuck" in text
        with pytest.raises(NotSent, match="535") as refused:
            mail_to(port, certificates, password="wr0ng").send([message()], ORIGIN)
        assert "wr0ng" not in str(refused.value)
        stranger = ssl.create_default_context(cafile=str(certificates.stranger))
        with pytest.raises(NotSent, match="certificate verify failed"):
            mail_to(port, certificates, ssl_context=stranger).send([message()], ORIGIN)
        assert len(box.got) == 1


def test_mail_is_sent_in_plain_text_if_configured(certificates: Certificates) -> None:
    """That is for a mail server on the same machine, for example."""
    plain = {"tls_context": None, "require_starttls": False, "auth_required": False}
    with mail_server(certificates, **plain) as (box, port):
        mail_to(port, certificates, user=None, security="none").send([message()], ORIGIN)
        assert len(box.got) == 1


def test_a_refused_recipient_is_logged(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    """The other recipients get the mail, so only the log shows it."""
    plain = {"tls_context": None, "require_starttls": False, "auth_required": False}
    with mail_server(certificates, **plain) as (box, port):
        target = mail_to(port, certificates, user=None, security="none")
        replace(target, receivers=("left@e.org", "ops@e.org")).send([message()], ORIGIN)
        assert box.got[0].rcpt_tos == ["ops@e.org"]
    assert "left@e.org was refused (550)" in caplog.text


def test_a_response_without_an_end_is_an_error() -> None:
    """It takes neither unlimited time nor unlimited memory."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            accepted, _ = server.accept()
            with accepted:
                try:
                    while True:
                        accepted.sendall(b"220-more\r\n" * 1_000)
                except OSError:
                    return

        scope = ThreadScope("talker")
        scope.spawn("talk", talk, stop=lambda: None)
        target = MailTarget(
            host="127.0.0.1", port=server.getsockname()[1], sender="a@b.c", receivers=("d@e.f",)
        )
        with pytest.raises(NotSent, match="too long"):
            target.send([message()], ORIGIN)
        assert scope.close(10_000) == []


PROGRAM = """
import json, os, sys
facts = {name: value for name, value in os.environ.items() if name.startswith("ZKCONSUMER_")}
with open(sys.argv[1], "a") as file:
    print(json.dumps([facts, json.load(sys.stdin)]), file=file)
"""


def test_a_command_gets_facts_by_environment_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell is used, and our own secrets are not in the environment."""
    monkeypatch.setenv("ZKCONSUMER_TOKEN", "hidden")
    file = tmp_path / "got; touch here"
    target = CommandTarget(argv=(sys.executable, "-c", PROGRAM, str(file)))
    target.send([message()], ORIGIN)
    environment, facts = json.loads(file.read_text())
    assert environment["ZKCONSUMER_GROUP"] == facts["group"] == "settlement"
    assert environment["ZKCONSUMER_COMMAND"] == facts["command"] == COMMAND
    assert environment["ZKCONSUMER_STATUS"] == facts["status"] == "firing"
    assert facts["evidence"] == ["settlement_host7 is registered but gone"]
    assert "ZKCONSUMER_TOKEN" not in environment


def test_a_command_that_fails_hangs_or_is_missing_is_an_error() -> None:
    """It and its children are killed at the timeout."""
    for argv, reason in (
        ((sys.executable, "-c", "raise SystemExit(3)"), "exited with status 3"),
        (("sh", "-c", "sleep 100 & wait"), "timed out and was killed"),
        (("/nowhere/program",), "No such file"),
    ):
        with pytest.raises(NotSent, match=reason):
            CommandTarget(argv=argv, timeout_ms=2_000).send([message()], ORIGIN)


def test_a_command_of_another_user_that_cant_be_killed_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For example one that was started with sudo."""

    def refuse(_group: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr("os.killpg", refuse)
    with pytest.raises(NotSent, match="timed out and was killed"):
        CommandTarget(argv=("sleep", "0.5"), timeout_ms=100).send([message()], ORIGIN)


def test_a_program_that_hangs_does_not_outlive_ours(tmp_path: Path) -> None:
    """Its children don't, either, and no other program is started."""
    pids = tmp_path / "pids"
    argv = ("sh", "-c", f"sleep 600 & echo $! $$ > {pids}; wait")
    target = CommandTarget(argv=argv, timeout_ms=600_000)
    notifier = Notifier((Route(name="hangs", target=target),), ORIGIN, Timing(after_ms=0))
    notifier.start()
    notifier.take(state_at())
    wait_until(lambda: pids.exists() and pids.read_text().count(" ") == 1, what="the program")
    notifier.close(100)

    def are_gone() -> bool:
        stats = [Path(f"/proc/{pid}/stat") for pid in pids.read_text().split()]
        return all(not stat.exists() or ") Z " in stat.read_text() for stat in stats)

    wait_until(are_gone, what="both to be gone")
    with pytest.raises(NotSent, match="is shutting down"):
        target.send([message()], ORIGIN)


class Faulty:
    """A target with a bug, until it is fixed."""

    def __init__(self) -> None:
        self.is_fixed = False
        self.got: list[str] = []

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """Fail, or record the messages."""
        del origin
        if not self.is_fixed:
            raise KeyError("x" * 9_000)
        self.got += [str(notification.alert.subject) for notification in messages]


def test_a_bug_of_ours_is_shown_and_notifications_recover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be in evaluating or in sending; unsent messages are sent later without a new state."""

    def fail(_state: object) -> object:
        raise KeyError("no")

    target = Faulty()
    notifier = Notifier((Route(name="ops", target=target),), ORIGIN, Timing(after_ms=0))
    with monkeypatch.context() as broken:
        broken.setattr("zkconsumer.notify.notifier.observe", fail)
        notifier.start()
        notifier.take(state_at())
        wait_until(lambda: notifier.problem, what="the problem")
        assert "evaluated: a bug in zkconsumer, KeyError" in str(notifier.problem)
    notifier.take(state_at())
    wait_until(lambda: "notifying ops" in str(notifier.problem), what="the sender's")
    assert len(str(notifier.problem)) < 300
    target.is_fixed = True
    wait_until(lambda: target.got and notifier.problem is None, what="its end")
    assert notifier.close() == []


def test_a_name_that_does_not_resolve_takes_no_longer_than_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system's resolver may take half a minute, and longer."""
    resolving = threading.Event()

    def hang(*_: object, flags: int = 0, **__: object) -> list[object]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror("not an address")
        resolving.wait(10)
        raise socket.gaierror("too late")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        url = urlsplit("http://receiver.invalid/x")
        posted = HttpTarget(url=url, template=as_json, timeout_ms=50)
        mailed = MailTarget(
            host="mail.invalid", port=25, sender="a@b.c", receivers=("d@e.f",), timeout_ms=50
        )
        for target in (posted, mailed):
            with pytest.raises(NotSent, match="was not found within 50 ms"):
                target.send([message()], ORIGIN)
    finally:
        resolving.set()


def test_a_notifier_sends_although_another_target_hangs(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """A failed post is retried without a new state; the log has no secrets."""
    receiver.statuses = [503]
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        url = urlsplit(f"http://127.0.0.1:{receiver.port}/x?key=hidden")
        notifier = Notifier(
            (
                Route(name="away", target=http(hanging.getsockname()[1], 500)),
                Route(
                    name="there",
                    target=HttpTarget(url=url, template=as_json),
                    policy=Policy(severity=Severity.ERROR, silenced=(re.compile("bill.*"),)),
                ),
            ),
            ORIGIN,
            Timing(after_ms=0),
        )
        state = state_at()
        with caplog.at_level(logging.DEBUG):
            notifier.start()
            notifier.take(state)
            wait_until(lambda: receiver.got, what="the first try")

            wait_until(lambda: len(receiver.got) > 1, what="a second try, without a new state")
            assert notifier.close() == []
    notified = [item["group"] for item in receiver.got[1][2]["messages"]]
    assert "fraud-scoring" in notified
    assert "billing" not in notified
    assert len(receiver.got) == 2
    assert "trying again" in caplog.text
    assert "hidden" not in caplog.text


class EvaluationClock(ManualClock):
    """A clock that counts how often a state was evaluated with it."""

    def __init__(self) -> None:
        super().__init__()
        self.evaluations = 0

    def wall_ms(self) -> int:
        """See ``Clock``."""
        now_ms = super().wall_ms()
        self.evaluations += threading.current_thread().name == "notify/judge"
        return now_ms


def test_a_group_that_flaps_ten_times_is_two_messages(receiver: Receiver) -> None:
    """Each kind of target gets the banner's text when it is stuck, and one message at its end."""
    shop, clock = state_at(), EvaluationClock()
    groups = shop.snapshot.groups
    calm = groups[GroupKey(GroupKind.ZOOKEEPER, "archiver")]
    stuck, well = (
        replace(shop, snapshot=shown, judgements=Judgements(shown, snapshot_at(36), Memory()))
        for shown in (
            replace(shop.snapshot, groups={SETTLEMENT: group})
            for group in (groups[SETTLEMENT], replace(calm, group_id="settlement"))
        )
    )
    templates: dict[str, Template] = {
        "slack": as_slack,
        "pagerduty": pagerduty("key"),
        "alertmanager": as_alertmanager,
    }
    routes = tuple(
        Route(
            name=name,
            target=HttpTarget(
                url=urlsplit(f"http://127.0.0.1:{receiver.port}/{name}"), template=template
            ),
            policy=Policy(severity=Severity.ERROR),
        )
        for name, template in templates.items()
    )
    notifier = Notifier(routes, ORIGIN, clock=clock)
    notifier.start()

    def take_for_half_a_minute(state: ClusterState) -> None:
        evaluations = clock.evaluations
        notifier.take(state)
        wait_until(lambda: clock.evaluations > evaluations, what="the judge")
        clock.advance(30_000)

    for _ in range(10):
        for state in (stuck, stuck, stuck, stuck, well, well):
            take_for_half_a_minute(state)
    wait_until(lambda: len(receiver.got) == 3, what="that it is stuck")
    for _ in range(30):
        take_for_half_a_minute(well)
    wait_until(lambda: len(receiver.got) == 6, what="that it is over")
    assert notifier.close() == []
    got = {
        name: [body for path, _, body in receiver.got if path == f"/{name}"] for name in templates
    }
    assert {name: len(bodies) for name, bodies in got.items()} == dict.fromkeys(templates, 2)
    headline = "settlement is stuck: settlement_host7 is registered but gone"
    command = (
        "zkconsumer doctor --fix --group settlement --zookeeper zk1:2181,zk2:2181,zk3:2181/shop"
    )
    begin, end = got["slack"]
    assert f"*ERROR {headline}*" in begin["text"]
    assert f"\n`{command}`\n" in begin["text"]
    assert re.search(rf"\*RESOLVED after \d+ min: {headline}\*", end["text"])
    begin, end = got["pagerduty"]
    assert begin["payload"]["summary"] == f"ERROR {headline}"
    assert begin["payload"]["custom_details"]["command"] == command
    assert (begin["event_action"], end["event_action"]) == ("trigger", "resolve")
    assert begin["dedup_key"] == end["dedup_key"]
    [[begin], [end]] = got["alertmanager"]
    assert begin["annotations"]["summary"] == f"ERROR {headline}"
    assert begin["annotations"]["command"] == command
    assert end["labels"] == begin["labels"]
