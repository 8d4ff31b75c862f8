"""Follow-up actions of a state change: values that the shell acts on afterwards. Pure."""

from dataclasses import dataclass, field

from zkconsumer.model import Broker, TopicPartition


@dataclass(slots=True)
class Effects:
    """Collect the follow-up actions of a state change.

    Attributes:
        notify_caller: records can be collected, or a position became known.
        resolve_positions: the positions thread has lookups to send.
        refresh_metadata: a partition's leader has moved.
        wake: the brokers whose fetchers have new requests to send.
        notes: log messages.
        lost: partitions whose leader can't serve them now, each with the reason.
    """

    notify_caller: bool = False
    resolve_positions: bool = False
    refresh_metadata: bool = False
    wake: set[Broker] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    lost: dict[TopicPartition, str] = field(default_factory=dict)

    def add(self, others: "Effects") -> None:
        """Add other effects to these, except notes, which may have been logged already."""
        self.notify_caller |= others.notify_caller
        self.resolve_positions |= others.resolve_positions
        self.refresh_metadata |= others.refresh_metadata
        self.wake |= others.wake
        self.lost |= others.lost
