"""The order in which brokers are tried. Pure."""

from collections.abc import Callable, Collection, Sequence

from zkconsumer.model import Broker


class BrokerOrder:
    """Orders brokers: those whose last request failed come last. Thread: any.

    Args:
        bootstrap: the configured brokers; also tried when no other responds.
        shuffle: puts brokers into random order, in place.
        failed_last: returns whether the last request to a broker failed.
    """

    def __init__(
        self,
        bootstrap: Sequence[Broker],
        shuffle: Callable[[list[Broker]], None],
        failed_last: Callable[[Broker], bool],
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._shuffle = shuffle
        self._failed_last = failed_last
        self._known: tuple[Broker, ...] = ()

    def know(self, brokers: Collection[Broker]) -> None:
        """Set the live brokers, from their metadata. An empty list is ignored."""
        if brokers:
            self._known = tuple(brokers)

    def round_of(self, brokers: Sequence[Broker]) -> list[Broker]:
        """Return each of these brokers once, those whose last request failed at the end."""
        ordered = list(brokers)
        self._shuffle(ordered)
        ordered.sort(key=self._failed_last)
        return ordered

    def next_round(self) -> list[Broker]:
        """Return every broker once: the live ones, then the rest of the bootstrap brokers."""
        known = self._known
        addresses = {(broker.host, broker.port) for broker in known}
        rest = [broker for broker in self._bootstrap if (broker.host, broker.port) not in addresses]
        return self.round_of(known) + self.round_of(rest)
