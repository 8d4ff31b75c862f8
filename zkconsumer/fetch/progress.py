"""How far a partition was read, and whether it is still owned: fields that change per message.

With the native engine they are a small C structure, so that a fetch loop and a stream's iterator
can read them without Python; else an object with slots. Access to either runs no Python code, so
no signal handler runs between two stores. ``fetch.claim`` describes the fields and who writes
each.
"""

from typing import TYPE_CHECKING

from zkconsumer.records.engine import ENGINE, Engine


class PureProgress:
    """Progress as a Python object: at first active, with unknown offsets."""

    __slots__ = ("active", "consumed_offset", "delivered_offset", "high_watermark", "log_start")

    def __init__(self) -> None:
        self.active = True
        self.consumed_offset: int | None = None
        self.delivered_offset: int | None = None
        self.high_watermark = -1
        self.log_start = -1


# For mypy both are one class: they have the same fields.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Progress = _core.Progress
else:
    Progress = PureProgress

__all__ = ["Progress", "PureProgress"]
