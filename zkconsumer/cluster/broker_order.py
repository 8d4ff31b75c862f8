"""Which brokers to ask, and in which order. Pure."""

from collections.abc import Callable, Collection, Sequence

from zkconsumer.model import Broker


class BrokerOrder:
    """Thread: any.

    Args:
        bootstrap: known from the start; asked when no other answers, too.
        shuffle: puts brokers into random order, in place.
        failed_last: whether a broker failed when it was asked last: such are asked after others.
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
        """These are the live brokers, by their own words. None at all says nothing."""
        if brokers:
            self._known = tuple(brokers)

    def round_of(self, brokers: Sequence[Broker]) -> list[Broker]:
        """Each of these brokers once, those that failed last at the end."""
        ordered = list(brokers)
        self._shuffle(ordered)
        ordered.sort(key=self._failed_last)
        return ordered

    def next_round(self) -> list[Broker]:
        """Every broker once: those that are known to live, then the rest of the bootstrap."""
        known = self._known
        addresses = {(broker.host, broker.port) for broker in known}
        rest = [broker for broker in self._bootstrap if (broker.host, broker.port) not in addresses]
        return self.round_of(known) + self.round_of(rest)
