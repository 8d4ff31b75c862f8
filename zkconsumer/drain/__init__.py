"""Lands whole topics through Spark, exactly once, and proves it afterwards.

These names are what programs need; they load Spark when they are first asked for.
"""

from typing import TYPE_CHECKING

from zkconsumer.lazy import load_later

if TYPE_CHECKING:
    from zkconsumer.drain.hadoop_storage import HadoopStorage
    from zkconsumer.drain.launch import drain
    from zkconsumer.drain.proving.verify import verify
    from zkconsumer.drain.runner import DrainReport
    from zkconsumer.drain.settings import DrainSettings

__all__ = ["DrainReport", "DrainSettings", "HadoopStorage", "drain", "verify"]

_LATER = {
    "drain": "launch",
    "DrainReport": "runner",
    "DrainSettings": "settings",
    "HadoopStorage": "hadoop_storage",
    "verify": "proving.verify",
}

if not TYPE_CHECKING:
    __getattr__ = load_later(__name__, _LATER)
