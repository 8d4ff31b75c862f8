"""Calls the caller's rebalance listener, which may be of any class.

Source: Kafka ``ConsumerRebalanceListener``; KIP-429 for lost partitions.
"""

import inspect
import logging
from collections.abc import Iterable
from typing import Any, Protocol

from zkconsumer.errors import IllegalArgumentError
from zkconsumer.membership.listener import ConsumerRebalanceListener
from zkconsumer.model import TopicPartition

__all__ = ["ConsumerRebalanceListener", "ListenerInvoker", "PollListener"]

log = logging.getLogger(__name__)


class PollListener(Protocol):
    """The methods that a listener needs; without ``on_partitions_lost``, ``revoked`` is called."""

    def on_partitions_revoked(self, revoked: set[TopicPartition], /) -> object:
        """See ``ConsumerRebalanceListener``."""
        ...

    def on_partitions_assigned(self, assigned: set[TopicPartition], /) -> object:
        """See ``ConsumerRebalanceListener``."""
        ...


class ListenerInvoker:
    """Calls the subscription's listener, if any; does not catch its exceptions."""

    def __init__(self) -> None:
        # Any: listeners written for other clients are accepted, too.
        self._listener: Any = None

    def set(self, listener: object) -> None:
        """Set the listener; None removes it.

        Raises:
            ConfigError: the object is no listener, or its methods are coroutines, which
                nothing would await.
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

    def on_revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Call the listener for partitions that are revoked when it returns."""
        if self._listener is not None:
            self._listener.on_partitions_revoked(set(partitions))

    def on_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Call the listener for newly assigned partitions."""
        if self._listener is not None:
            self._listener.on_partitions_assigned(set(partitions))

    def on_lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Call the listener for partitions that may have other owners already."""
        if self._listener is not None:
            # A listener written before KIP-429 may lack this method.
            lost = getattr(self._listener, "on_partitions_lost", None)
            call = lost if callable(lost) else self._listener.on_partitions_revoked
            call(set(partitions))
