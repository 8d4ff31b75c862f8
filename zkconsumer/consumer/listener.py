"""Calls of the caller's rebalance listener, whoever's class it is.

Source: Kafka ``ConsumerRebalanceListener``; KIP-429 for what is lost.
"""

import inspect
import logging
from collections.abc import Iterable
from typing import Any, Protocol

from zkconsumer.connector.listener import ConsumerRebalanceListener
from zkconsumer.errors import IllegalArgumentError
from zkconsumer.model import TopicPartition

__all__ = ["ConsumerRebalanceListener", "ListenerInvoker", "PollListener"]

log = logging.getLogger(__name__)


class PollListener(Protocol):
    """What a listener has at least; ``on_partitions_lost`` stands for ``revoked`` where missing."""

    def on_partitions_revoked(self, revoked: set[TopicPartition], /) -> object:
        """See ``ConsumerRebalanceListener``."""
        ...

    def on_partitions_assigned(self, assigned: set[TopicPartition], /) -> object:
        """See ``ConsumerRebalanceListener``."""
        ...


class ListenerInvoker:
    """The listener of the subscription, if there is one. What it raises comes through."""

    def __init__(self) -> None:
        # Any: classes made for other clients do, too.
        self._listener: Any = None

    def set(self, listener: object) -> None:
        """Call this one from now on; None: nobody.

        Raises:
            ConfigError: it is no listener, or one of coroutines, which nobody would await.
        """
        if listener is not None:
            for name in ("on_partitions_revoked", "on_partitions_assigned"):
                method = getattr(listener, name, None)
                if not callable(method):
                    raise IllegalArgumentError(
                        f"listener {listener!r} has no method {name}: derive it from "
                        "ConsumerRebalanceListener"
                    )
                if inspect.iscoroutinefunction(method):
                    raise IllegalArgumentError(
                        f"listener {listener!r}: {name} can't be a coroutine"
                    )
        self._listener = listener

    def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """They are still ours, for the length of this call."""
        if self._listener is not None:
            self._listener.on_partitions_revoked(set(partitions))

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """They came to what is ours."""
        if self._listener is not None:
            self._listener.on_partitions_assigned(set(partitions))

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Others may have them already."""
        if self._listener is not None:
            # Written before KIP-429, it may not know the difference.
            lost = getattr(self._listener, "on_partitions_lost", None)
            call = lost if callable(lost) else self._listener.on_partitions_revoked
            call(set(partitions))
