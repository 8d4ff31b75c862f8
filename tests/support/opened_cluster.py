"""``open_cluster`` for a cluster in memory, for tests of commands."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.support.status_world import StatusWorld
from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments

Open = Callable[..., AbstractContextManager[CommandCluster]]


def opening(world: StatusWorld) -> Open:
    """Return a replacement of ``open_cluster`` that opens ``world``."""

    @contextmanager
    def open_it(
        args: argparse.Namespace, *, even_without: bool = False, times_most: int = 0
    ) -> Iterator[CommandCluster]:
        del even_without
        access = CommandCluster(
            store=world.tree.store,
            dialer=world.cluster.dialer(),
            zookeeper_connect=args.zookeeper,
            timeout_ms=args.timeout_ms,
            sessions=world.sessions,
            times_most=times_most,
            clock=world.clock,
        )
        try:
            yield access
        finally:
            access.close()

    return open_it


def parsed_arguments(*flags: str) -> argparse.Namespace:
    """Parse the arguments that all commands have in common."""
    parser = argparse.ArgumentParser()
    add_cluster_arguments(parser)
    return parser.parse_args(flags)
