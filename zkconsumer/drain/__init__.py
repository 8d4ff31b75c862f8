"""Lands whole topics through Spark, exactly once, and proves it afterwards.

``drain`` and ``DrainSettings`` are what programs need; they load Spark when they are first asked
for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zkconsumer.drain.launch import drain
    from zkconsumer.drain.runner import DrainReport
    from zkconsumer.drain.settings import DrainSettings

__all__ = ["DrainReport", "DrainSettings", "drain"]

_HOMES = {
    "drain": "zkconsumer.drain.launch",
    "DrainReport": "zkconsumer.drain.runner",
    "DrainSettings": "zkconsumer.drain.settings",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
