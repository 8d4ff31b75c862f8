"""A flag that a stream looks at for every message: raised where nothing may be handed out."""

from typing import TYPE_CHECKING

from zkconsumer.records.engine import ENGINE, Engine


class PureFlag:
    """The one in Python; it is down at first.

    Attributes:
        is_up: written by one thread, read by any.
    """

    __slots__ = ("is_up",)

    def __init__(self) -> None:
        self.is_up = False


# For mypy the two are one: they have the same field.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Flag = _core.Flag
else:
    Flag = PureFlag

__all__ = ["Flag", "PureFlag"]
