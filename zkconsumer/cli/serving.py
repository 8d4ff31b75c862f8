"""Runs the server of ``zkconsumer serve``: pages, history, events, metrics. Needs an extra."""

import argparse
import logging
import os
import re
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from zkconsumer.cli.browsing import CommandBrowser
from zkconsumer.cli.cluster_access import address_of, broker_settings, open_cluster
from zkconsumer.cli.exit_status import INTERRUPTED
from zkconsumer.cli.named_clusters import clusters_of
from zkconsumer.cli.notifying import notifying
from zkconsumer.cli.page_browser import open_page
from zkconsumer.cli.serve import TOKEN_VARIABLE
from zkconsumer.errors import ConfigError
from zkconsumer.inbound.table import ConnectionLimits
from zkconsumer.notify.settings import NotifySettings
from zkconsumer.scope import side_by_side
from zkconsumer.status.model import BrokersAlone
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.app import build_app, build_clusters_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.history.database import check_file
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import Recorder
from zkconsumer.web.history.upkeep import Retention
from zkconsumer.web.publishing import OnNews
from zkconsumer.web.security import Hosts, Tokens, check_token, is_loopback
from zkconsumer.web.serving import (
    Address,
    PageServer,
    connection_limits,
    listening,
    parse_address,
)
from zkconsumer.web.site import Site
from zkconsumer.web.state import ClusterState
from zkconsumer.web.watching import RETRY_MS, ClusterWatch, WatchSettings

log = logging.getLogger(__name__)

_NAME_CHARS: Final = 150
_TIMES_MOST: Final = 2_000
"""The maximum number of record timestamps to read at a time: some megabytes."""


def claim(files: dict[Path, str], path: Path, name: str) -> None:
    """Assign a history file to a cluster for good, so that no two clusters share one. Thread: any.

    This is atomic, since clusters may learn their addresses at the same time.

    Raises:
        ConfigError: another cluster has the file: both have the same address.
    """
    other = files.setdefault(path, name)
    if other != name:
        raise ConfigError(
            f"{other} and {name} would share one history, {path}: they have the same address; "
            "leave one of them out, or give --no-history"
        )


def serve_sandbox(args: argparse.Namespace) -> int:
    """Serve the page of a sandbox until the sandbox ends, without notifications."""
    from zkconsumer.cli.sandbox import playing  # noqa: PLC0415 - its own dependencies
    from zkconsumer.sandbox import Sandbox  # noqa: PLC0415

    if args.clusters:
        raise ConfigError("--play shows a sandbox: leave out --clusters")
    print("starting ZooKeeper and Kafka (downloading them the first time)", flush=True)
    with Sandbox() as cluster, playing(cluster):
        # These replace the settings of another cluster in the configuration file.
        args.zookeeper, args.bootstrap_servers = cluster.zookeeper_connect, None
        args.cluster_name = args.command_config = None
        args.no_history = args.history is None
        return serve_pages(args, NotifySettings())


def serve_pages(args: argparse.Namespace, settings: NotifySettings) -> int:
    """Serve the pages of the given clusters until a signal; return the exit status."""
    token = _token(args)
    address = parse_address(args.listen)
    _check_open(address, token, no_token=args.no_token)
    messages = _messages(args, token) if args.messages else None
    clusters = clusters_of(args) if args.clusters else {"": args}
    for cluster in clusters.values():
        cluster.address = _address(cluster)
        cluster.browser = None if messages is None else messages.at(cluster)
    limits = connection_limits(args.max_connections, args.client_timeout_ms)
    with ExitStack() as stack:
        bound, where = stack.enter_context(listening(address))
        recorders = {
            name: stack.enter_context(_recorder(cluster, several=len(clusters) > 1))
            for name, cluster in clusters.items()
        }
        files: dict[Path, str] = {}
        for name, recorder in recorders.items():
            claim(files, recorder.path, name)
            clusters[name].on_change = recording(name, clusters[name], recorder, files)
        for cluster in clusters.values():
            cluster.notifier = (
                stack.enter_context(notifying(cluster, settings)) if settings.routes else None
            )
        return _serve(clusters, bound, where, recorders, token, limits)


def _address(args: argparse.Namespace) -> str:
    """Return a cluster's address for its page.

    Raises:
        ConfigError: the address can't be used. With several clusters nothing is raised: the
            cluster's own page shows the error.
        OSError: its file can't be read; as above.
    """
    try:
        return address_of(args, broker_settings(args))
    except (ConfigError, OSError):
        if not args.clusters:
            raise
        return args.zookeeper or args.bootstrap_servers or ""


def _serve(
    clusters: Mapping[str, argparse.Namespace],
    bound: socket.socket,
    where: Address,
    recorders: Mapping[str, Recorder],
    token: str | None,
    limits: ConnectionLimits,
) -> int:
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
        # Do not wait for hanging clusters one after another.
        side_by_side("end", [watch.close for watch, _ in served.values()], threads=len(served))
    for watch, _ in served.values():
        error = watch.error()
        if error is not None:
            raise error
    return INTERRUPTED if server.ended_by == signal.SIGINT else 0


def _watched(
    args: argparse.Namespace,
    recorder: Recorder,
    tokens: Tokens,
    hosts: Hosts,
    on_death: Callable[[BaseException], None],
) -> tuple[ClusterWatch, Site]:
    """Return the watcher of one cluster, and its site, which the application serves."""
    watch = ClusterWatch(
        lambda: open_cluster(args, even_without=True, times_most=_TIMES_MOST),
        WatchSettings(
            through=args.zookeeper or BrokersAlone(bootstrap_servers=args.address),
            interval_ms=args.interval_ms,
            retry_ms=min(args.interval_ms, RETRY_MS),
            groups=args.groups,
            ends=not args.clusters,
        ),
        on_change=args.on_change,
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
        messages=args.browser,
        delivery_problem=lambda: None if notifier is None else notifier.problem,
    )
    if notifier is not None:
        watch.subscribe(notifier.take)
    return watch, site


def recording(
    name: str, args: argparse.Namespace, recorder: Recorder, files: dict[Path, str]
) -> OnNews:
    """Return the function that records a cluster's states.

    If the cluster's address is unknown, the first complete state shows it, and so the history file.
    """

    def take(state: ClusterState, rebalances: tuple[Rebalance, ...]) -> None:
        if not args.address and state.ready:
            args.address = state.snapshot.address
            try:
                path = _history_file(args)
                claim(files, path, name)
                recorder.move(path)
            except ConfigError as error:
                log.warning("the history of %s is not kept: %s", name, error)
        recorder.take(state, rebalances)

    return take if not (args.address or args.no_history) else recorder.take


def _token(args: argparse.Namespace) -> str | None:
    if args.token_file is not None:
        try:
            return check_token(args.token_file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the token can't be read from {args.token_file}: {error}") from error
    token = os.environ.get(TOKEN_VARIABLE)
    return None if token is None else check_token(token)


def _check_open(address: Address, token: str | None, *, no_token: bool) -> None:
    if token is None and not no_token and not is_loopback(address.host):
        raise ConfigError(
            f"everybody who can reach {address} would see the cluster: give --token-file, set "
            f"{TOKEN_VARIABLE}, or give --no-token"
        )


def _messages(args: argparse.Namespace, token: str | None) -> CommandBrowser:
    """Check the settings of the reader of messages, and return it.

    Raises:
        ConfigError: there is no token, or the registry can't be used.
    """
    if token is None:
        raise ConfigError(
            "--messages shows the messages of topics: it needs a token, by --token-file or "
            f"{TOKEN_VARIABLE}"
        )
    logging.getLogger("zkconsumer.web.audit").setLevel(logging.INFO)
    return CommandBrowser(args)


@contextmanager
def _recorder(args: argparse.Namespace, *, several: bool) -> Iterator[Recorder]:
    if several and args.history is not None:
        raise ConfigError("--history is the file of one cluster: leave it out with --clusters")
    with ExitStack() as stack:
        if args.no_history or not args.address:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="zkconsumer-page-"))
            path = Path(folder) / "history.sqlite"
        else:
            path = _history_file(args)
        retention = Retention(days=args.keep_days, max_bytes=args.history_mb << 20)
        recorder = Recorder(path, retention)
        stack.callback(recorder.close)
        yield recorder


def _history_file(args: argparse.Namespace) -> Path:
    """Return the path of a cluster's history: as given, or by its address.

    Raises:
        ConfigError: no history can be kept there.
    """
    path = args.history or _default_history(args.address)
    check_file(path, ours=args.history is None)
    return path


def _default_history(address: str) -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(home) / "zkconsumer"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the history can't be kept in {folder}: {error.strerror}: give --history FILE, or "
            "--no-history"
        ) from error
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", address)
    if len(name) > _NAME_CHARS:  # a chroot, at the end, distinguishes clusters
        name = f"{name[:_NAME_CHARS]}-{blake2b(address.encode(), digest_size=8).hexdigest()}"
    return folder / f"{name}.history"
