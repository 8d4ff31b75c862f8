"""``zkconsumer watch``: notifies of groups in trouble, and of their recovery."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence

from zkconsumer.cli.cluster_access import address_of, broker_settings, open_cluster
from zkconsumer.cli.cluster_arguments import (
    add_abandoned_argument,
    add_cluster_arguments,
    milliseconds,
)
from zkconsumer.cli.notifying import notify_settings, notifying, origin_of
from zkconsumer.cli.timed_output import limit_log_writes, write_within
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.notify.alerts import Alert
from zkconsumer.notify.notifier import Route
from zkconsumer.notify.outbox import Notification, Status
from zkconsumer.notify.settings import NotifySettings
from zkconsumer.notify.targets import NotSent, Rejected
from zkconsumer.notify.templates import NotificationOrigin, instant, plain_text
from zkconsumer.notify.troubles import GroupTrouble
from zkconsumer.printable import printable
from zkconsumer.scope import Mailbox
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import BrokersAlone, GroupKey, GroupKind
from zkconsumer.web.watching import ClusterWatch, WatchSettings

DESCRIPTION = """\
Watch a cluster and report when a group gets into trouble, and when the trouble is over: on the
terminal, and to the targets in [notify] of the configuration file: Slack, PagerDuty, Alertmanager,
any HTTP address, e-mail, a command. A group is in trouble if doctor and the page report it.

  zkconsumer watch --zookeeper zk1:2181
  zkconsumer --cluster plant watch
  zkconsumer watch --zookeeper zk1:2181 --test          (send each target a message, and end)

Each problem is reported once it has lasted for a while, and again when it is over; a flapping group
counts as one problem. Quiet hours, silenced groups and all settings: docs/watch.md. It only reads,
and notifies only the configured targets.
"""
EPILOG = """\
exit status: 0 stopped by SIGTERM, or each target accepted the test message; 1 it failed, or a
target did not accept the test message; 2 wrong usage, or invalid settings; 130 Ctrl-C"""
_NAP_MS = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_arguments(parser)
    add_abandoned_argument(parser)
    parser.add_argument(
        "--interval-ms",
        type=milliseconds,
        default=10_000,
        metavar="MS",
        help="the interval between reads of the cluster (default: %(default)s)",
    )
    parser.add_argument(
        "--test", action="store_true", help="send a test message to each target, and end"
    )


def run(args: argparse.Namespace) -> int:
    """Watch until a signal; return the exit status."""
    limit_log_writes()
    settings = notify_settings()
    args.address = address_of(args, broker_settings(args))
    if args.test:
        return _test(settings, origin_of(args, settings))
    return _watch(args, settings)


def _watch(args: argparse.Namespace, settings: NotifySettings) -> int:
    ended: Mailbox[BaseException | int] = Mailbox()
    terminal = Route(name="standard output", target=Terminal(ended.put))
    with notifying(args, settings, (terminal,)) as notifier:
        watch = ClusterWatch(
            lambda: open_cluster(args, even_without=True),
            WatchSettings(
                through=args.zookeeper or BrokersAlone(bootstrap_servers=args.address),
                interval_ms=args.interval_ms,
            ),
            on_change=lambda state, _rebalances: notifier.take(state),
            on_death=ended.put,
        )
        targets = ", ".join(route.name for route in settings.routes) or "none"
        print(f"watching {printable(args.address)}; notified targets: {targets}", flush=True)
        watch.start()
        try:
            return _wait(ended)
        finally:
            watch.close()


def _wait(ended: "Mailbox[BaseException | int]") -> int:
    """Wait for SIGTERM, SIGHUP or the death of the watch; Ctrl-C raises."""
    before = {
        number: signal.signal(number, lambda _number, _frame: ended.put(0))
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        outcome = None
        while outcome is None:
            outcome = ended.get(_NAP_MS)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


class Terminal:
    """A target that prints messages, without waiting for a stopped reader.

    Args:
        end: called with the error when the reader has gone.
        descriptor: the descriptor to write to; None: standard output.
    """

    def __init__(self, end: Callable[[BaseException], None], descriptor: int | None = None) -> None:
        self._end = end
        self._descriptor = sys.stdout.fileno() if descriptor is None else descriptor

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """See ``Receiver``."""
        lines = [
            f"{instant(message.at_ms)} {plain_text(message, origin)}\n" for message in messages
        ]
        data = "".join(lines).encode(errors="backslashreplace")
        try:
            write_within(self._descriptor, data)
        except BrokenPipeError as error:
            self._end(error)
            raise Rejected("standard output is no longer read") from None
        except OSError as error:
            raise NotSent(f"standard output: {error}") from None


def _test(settings: NotifySettings, origin: NotificationOrigin) -> int:
    if not settings.routes:
        raise ConfigError(
            "there is no target to notify: the configuration file has no [notify.to.NAME]"
        )
    results = [_tested(route, origin) for route in settings.routes]
    return 0 if all(results) else 1


def _tested(route: Route, origin: NotificationOrigin) -> bool:
    now_ms = SystemClock().wall_ms()
    alert = Alert(
        # A subject of its own, whose alert does not affect those of real groups.
        subject=GroupKey(GroupKind.ZOOKEEPER, "zkconsumer-test"),
        severity=Severity.WARNING,
        trouble=GroupTrouble(
            severity=Severity.WARNING,
            code="test",
            headline="zkconsumer-test: this is a test, nothing is wrong",
            what="It is resolved immediately.",
        ),
        began_ms=now_ms,
    )
    try:
        for status in (Status.FIRING, Status.RESOLVED):
            route.target.send((Notification(status=status, alert=alert, at_ms=now_ms),), origin)
    except ZkConsumerError as error:
        print(f"{route.name}: {printable(str(error))}", file=sys.stderr)
        return False
    print(f"{route.name}: accepted")
    return True
