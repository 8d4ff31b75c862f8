"""Runs the notifications of ``serve`` and ``watch``."""

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager

from zkconsumer.cli.configuration import user_configuration
from zkconsumer.notify.notifier import Notifier, Route
from zkconsumer.notify.settings import NotifySettings, read_notify_settings
from zkconsumer.notify.templates import NotificationOrigin


def notify_settings() -> NotifySettings:
    """Return the settings of the configuration file.

    Raises:
        ConfigError: the settings are invalid.
    """
    configuration = user_configuration()
    return read_notify_settings({} if configuration is None else configuration.notify)


def origin_of(args: argparse.Namespace, settings: NotifySettings) -> NotificationOrigin:
    """Return the origin of messages about the command's cluster."""
    page = settings.page
    if page is not None and getattr(args, "clusters", None):  # each cluster has a page of its own
        page = f"{page.rstrip('/')}/clusters/{args.cluster_name}"
    return NotificationOrigin(cluster=args.cluster_name or args.address, page=page)


@contextmanager
def notifying(
    args: argparse.Namespace, settings: NotifySettings, more: tuple[Route, ...] = ()
) -> Iterator[Notifier]:
    """Yield a running notifier for the settings' routes and ``more``; end it afterwards."""
    routes = (*settings.routes, *more)
    with closing(Notifier(routes, origin_of(args, settings), settings.timing)) as notifier:
        notifier.start()
        yield notifier
