"""Lands whole topics through Spark, exactly once, and proves it afterwards.

These names are what programs need; they load Spark when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zkconsumer.drain.hadoop_storage import HadoopStorage
    from zkconsumer.drain.launch import drain
    from zkconsumer.drain.proving.verify import verify
    from zkconsumer.drain.runner import DrainReport
    from zkconsumer.drain.settings import DrainSettings

__all__ = ["DrainReport", "DrainSettings", "HadoopStorage", "drain", "verify"]

_HOMES = {
    "drain": "zkconsumer.drain.launch",
    "DrainReport": "zkconsumer.drain.runner",
    "DrainSettings": "zkconsumer.drain.settings",
    "HadoopStorage": "zkconsumer.drain.hadoop_storage",
    "verify": "zkconsumer.drain.proving.verify",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
