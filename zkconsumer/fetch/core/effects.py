"""What is to be done once a change of state is complete: values, for the shell to act on. Pure."""

from dataclasses import dataclass, field

from zkconsumer.model import Broker


@dataclass(slots=True)
class Effects:
    """Gathered while the state changes, acted on when it is whole again.

    Attributes:
        notify_caller: there is something to collect, or a position became known.
        resolve_positions: the positions thread has something to ask.
        refresh_metadata: a leader is not where it was.
        wake: the brokers whose fetchers have something new to ask for.
        notes: for the log.
    """

    notify_caller: bool = False
    resolve_positions: bool = False
    refresh_metadata: bool = False
    wake: set[Broker] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def add(self, others: "Effects") -> None:
        """These, too, but for what the log has perhaps heard already."""
        self.notify_caller |= others.notify_caller
        self.resolve_positions |= others.resolve_positions
        self.refresh_metadata |= others.refresh_metadata
        self.wake |= others.wake
