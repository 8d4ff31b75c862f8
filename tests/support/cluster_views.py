"""Waits for a view of a cluster."""

import threading
import time
from collections.abc import Callable

from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.view import ClusterView


def await_view(
    metadata: MetadataManager, ready: Callable[[ClusterView], bool], timeout_ms: int
) -> bool:
    """Wait until a view satisfies ``ready``; return whether it does. Sends no request."""
    deadline_s = time.perf_counter() + timeout_ms / 1000
    pause = threading.Event()
    while not ready(metadata.view):
        if time.perf_counter() >= deadline_s:
            return False
        pause.wait(0.005)
    return True
