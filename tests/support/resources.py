"""Limits of the process, set for a moment."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resource_limit(name: str, soft: int) -> Iterator[None]:
    """Lower a soft limit of this process, such as ``RLIMIT_FSIZE``, while inside."""
    kind = getattr(resource, name)
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)
