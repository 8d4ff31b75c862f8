"""``zkconsumer serve``: serves a cluster's web pages, history, events and metrics."""

import argparse
import logging
import os
import re
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from zkconsumer.cli.browsing import browse, decoder_of
from zkconsumer.cli.cluster_access import broker_settings, open_cluster
from zkconsumer.cli.named_clusters import clusters_of
from zkconsumer.cli.notifying import notify_settings, notifying
from zkconsumer.cli.page_browser import open_page
from zkconsumer.cli.refusal import refusing
from zkconsumer.cli.serve_arguments import TOKEN_VARIABLE, add_serve_arguments
from zkconsumer.cli.timed_output import limit_log_writes
from zkconsumer.cli.without_zookeeper import address_of
from zkconsumer.errors import ConfigError
from zkconsumer.notify.settings import NotifySettings
from zkconsumer.scope import side_by_side

if TYPE_CHECKING:
    from zkconsumer.inbound.table import ConnectionLimits
    from zkconsumer.web.history.recorder import Recorder
    from zkconsumer.web.security import Hosts, Tokens
    from zkconsumer.web.serving import Address
    from zkconsumer.web.site import Site
    from zkconsumer.web.watching import ClusterWatch

MISSING: Final = "the page needs more: pip install 'zkconsumer[web]'"
_INTERRUPTED: Final = 130
_NAME_CHARS: Final = 150
_TIMES_MOST: Final = 2_000
"""How many record timestamps to read at a time: some megabytes."""
DESCRIPTION: Final = """\
Serves a page of the whole cluster: brokers, topics, consumer groups of both kinds, who reads what,
how far groups are behind, when they rebalanced and why, and what is wrong with them. Also what
Prometheus scrapes (/metrics), JSON (/api/...) and a health check (/healthz).

It only reads: nothing in ZooKeeper or on a broker is ever changed by it, and no group is joined.
Whom [notify] of the configuration file names is told of groups in trouble (docs/watch.md).
A cluster that goes away is waited for; what is shown meanwhile says how old it is.

  zkconsumer serve --zookeeper zk1:2181,zk2:2181/kafka
  zkconsumer serve --bootstrap-server kafka1:9092,kafka2:9092        (without a ZooKeeper)
  zkconsumer serve --zookeeper zk1:2181 --listen 0.0.0.0:8380 --token-file /etc/zkconsumer/token
  zkconsumer serve --play                               (a sandbox, in the browser)

It listens on this machine alone unless told otherwise. Who can reach it can see the cluster, so
another address needs a token: people type it in once, programs send "Authorization: Bearer TOKEN".
"""
EPILOG: Final = """\
exit codes: 0 it was asked to end (SIGTERM); 1 it could not listen or work; 2 wrong usage;
130 Ctrl-C
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_serve_arguments(parser)


@refusing
def run(args: argparse.Namespace) -> int:
    """Serve until a signal."""
    _check_extra()
    limit_log_writes()
    return _play(args) if args.play else _run(args, notify_settings())


def _check_extra() -> None:
    try:
        import zkconsumer.web.serving  # noqa: F401, PLC0415 - an extra
    except ImportError as missing:
        raise ConfigError(MISSING) from missing


def _play(args: argparse.Namespace) -> int:
    """Serve the page of a sandbox, which ends with it; no target is notified of its troubles."""
    from zkconsumer.cli.sandbox import playing  # noqa: PLC0415 - its own dependencies
    from zkconsumer.sandbox import Sandbox  # noqa: PLC0415

    if args.clusters:
        raise ConfigError("--play shows a sandbox: leave out --clusters")
    print("starting a ZooKeeper and a Kafka (the first time, downloading them)", flush=True)
    with Sandbox() as cluster, playing(cluster):
        # In place of what a configuration file says of another cluster.
        args.zookeeper, args.bootstrap_servers = cluster.zookeeper_connect, None
        args.cluster_name = args.command_config = None
        args.no_history = args.history is None
        return _run(args, NotifySettings())


def _run(args: argparse.Namespace, settings: NotifySettings) -> int:
    from zkconsumer.web.serving import (  # noqa: PLC0415 - an extra
        connection_limits,
        listening,
        parse_address,
    )

    token = _token(args)
    address = parse_address(args.listen)
    _check_open(address, token, no_token=args.no_token)
    if args.messages:
        _check_messages(args, token)
    clusters = clusters_of(args) if args.clusters else {"": args}
    for cluster in clusters.values():
        cluster.address = address_of(cluster, broker_settings(cluster))
    limits = connection_limits(args.max_connections, args.client_timeout_ms)
    with ExitStack() as stack:
        bound, where = stack.enter_context(listening(address))
        recorders = {
            name: stack.enter_context(_recorder(cluster, several=len(clusters) > 1))
            for name, cluster in clusters.items()
        }
        _check_histories(recorders)
        for cluster in clusters.values():
            cluster.notifier = (
                stack.enter_context(notifying(cluster, settings)) if settings.routes else None
            )
        return _serve(clusters, bound, where, recorders, token, limits)


def _serve(
    clusters: Mapping[str, argparse.Namespace],
    bound: socket.socket,
    where: "Address",
    recorders: "Mapping[str, Recorder]",
    token: str | None,
    limits: "ConnectionLimits",
) -> int:
    from zkconsumer.web.app import build_app, build_clusters_app  # noqa: PLC0415 - an extra
    from zkconsumer.web.security import Hosts, Tokens, is_loopback  # noqa: PLC0415
    from zkconsumer.web.serving import PageServer  # noqa: PLC0415

    args = next(iter(clusters.values()))
    tokens = Tokens(token)
    hosts = Hosts(
        any_name=not is_loopback(where.host) and not args.allow_host,
        names=frozenset(name.lower() for name in args.allow_host),
    )
    served = {
        name: _watched(cluster, recorders[name], tokens, hosts, lambda _error: server.end())
        for name, cluster in clusters.items()
    }
    sites = {name: site for name, (_, site) in served.items()}

    def drop_listeners() -> None:
        for site in sites.values():
            site.events.close()

    server = PageServer(
        build_clusters_app(sites) if args.clusters else build_app(sites[""]),
        drop_listeners,
        limits=limits,
        trusted_proxies=args.trusted_proxy,
    )
    for recorder in recorders.values():
        recorder.start()
    for watch, _ in served.values():
        watch.start()
    try:
        shown = ", ".join(clusters) if args.clusters else args.address
        print(f"the page of {shown} is at http://{where}/", flush=True)
        if args.play and not args.no_browser:
            everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - from here
            open_page(f"http://{where._replace(host=everywhere.get(where.host, where.host))}/")
        server.run(sockets=[bound])
    finally:
        for cluster in clusters.values():
            if cluster.notifier is not None:
                cluster.notifier.request_stop()
        # Clusters that hang are not waited for one after another.
        side_by_side("end", [watch.close for watch, _ in served.values()], threads=len(served))
    for watch, _ in served.values():
        error = watch.error()
        if error is not None:
            raise error
    return _INTERRUPTED if server.ended_by == signal.SIGINT else 0


def _watched(
    args: argparse.Namespace,
    recorder: "Recorder",
    tokens: "Tokens",
    hosts: "Hosts",
    on_death: Callable[[BaseException], None],
) -> "tuple[ClusterWatch, Site]":
    """Return the watcher of one cluster, and its parts of the application."""
    from zkconsumer.web.events import EventHub  # noqa: PLC0415 - an extra, as in all of this
    from zkconsumer.web.history.past import RecordedPast  # noqa: PLC0415
    from zkconsumer.web.site import Site  # noqa: PLC0415
    from zkconsumer.web.watching import (  # noqa: PLC0415
        RETRY_MS,
        ClusterWatch,
        WatchSettings,
    )

    watch = ClusterWatch(
        lambda: open_cluster(args, even_without=True, times_most=_TIMES_MOST),
        WatchSettings(
            zookeeper_connect=args.zookeeper or None,
            bootstrap_servers=args.address,
            interval_ms=args.interval_ms,
            retry_ms=min(args.interval_ms, RETRY_MS),
            groups=args.groups,
            ends=not args.clusters,
        ),
        on_change=recorder.take,
        on_death=on_death,
    )
    notifier = args.notifier
    site = Site(
        source=watch,
        past=RecordedPast(recorder),
        store=lambda: watch.store,
        tokens=tokens,
        hosts=hosts,
        events=EventHub(watch),
        messages=partial(browse, args) if args.messages else None,
        untold=lambda: None if notifier is None else notifier.problem,
    )
    if notifier is not None:
        watch.subscribe(notifier.take)
    return watch, site


def _token(args: argparse.Namespace) -> str | None:
    from zkconsumer.web.security import check_token  # noqa: PLC0415 - an extra

    if args.token_file is not None:
        try:
            return check_token(args.token_file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the token can't be read from {args.token_file}: {error}") from error
    token = os.environ.get(TOKEN_VARIABLE)
    return None if token is None else check_token(token)


def _check_open(address: "Address", token: str | None, *, no_token: bool) -> None:
    from zkconsumer.web.security import is_loopback  # noqa: PLC0415 - an extra

    if token is None and not no_token and not is_loopback(address.host):
        raise ConfigError(
            f"whoever reaches {address} would see the cluster: give --token-file, set "
            f"{TOKEN_VARIABLE}, or say --no-token"
        )


def _check_messages(args: argparse.Namespace, token: str | None) -> None:
    """Check what messages need, before anybody looks at any.

    Raises:
        ConfigError: there is no token, or the registry can't be used.
    """
    if token is None:
        raise ConfigError(
            f"--messages shows what topics hold: it needs a token, by --token-file or "
            f"{TOKEN_VARIABLE}"
        )
    decoder_of(args)
    logging.getLogger("zkconsumer.web.audit").setLevel(logging.INFO)


@contextmanager
def _recorder(args: argparse.Namespace, *, several: bool) -> "Iterator[Recorder]":
    from zkconsumer.web.history.database import check_file  # noqa: PLC0415 - an extra
    from zkconsumer.web.history.recorder import Recorder, RecorderSettings  # noqa: PLC0415
    from zkconsumer.web.history.upkeep import Keep  # noqa: PLC0415

    if several and args.history is not None:
        raise ConfigError("--history is the file of one cluster: leave it out with --clusters")
    with ExitStack() as stack:
        if args.no_history:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="zkconsumer-page-"))
            path = Path(folder) / "history.sqlite"
        else:
            path = args.history or _default_history(args.address)
        check_file(path, ours=args.history is None)
        keep = Keep(days=args.keep_days, max_bytes=args.history_mb << 20)
        recorder = Recorder(path, RecorderSettings(keep=keep))
        stack.callback(recorder.close)
        yield recorder


def _check_histories(recorders: "Mapping[str, Recorder]") -> None:
    """Check that no two clusters would write to one history.

    Raises:
        ConfigError: two have the same address.
    """
    names: dict[Path, str] = {}
    for name, recorder in recorders.items():
        other = names.setdefault(recorder.path, name)
        if other != name:
            raise ConfigError(
                f"{other} and {name} would be kept in one history, {recorder.path}: they have the "
                "same address; leave one of them out, or say --no-history"
            )


def _default_history(address: str) -> Path:
    """Return the default path of this cluster's history."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(home) / "zkconsumer"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the history can't be kept in {folder}: {error.strerror}: say where with --history "
            "FILE, or --no-history"
        ) from error
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", address)
    if len(name) > _NAME_CHARS:  # a chroot, at the end, distinguishes clusters
        name = f"{name[:_NAME_CHARS]}-{blake2b(address.encode(), digest_size=8).hexdigest()}"
    return folder / f"{name}.history"
