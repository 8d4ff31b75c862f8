"""Lands whole topics exactly once, and proves it afterwards: on Spark, or in this process.

These are the public names; an engine is loaded at its first use.
"""

from typing import TYPE_CHECKING

from zkconsumer.lazy import load_later

if TYPE_CHECKING:
    from zkconsumer.drain.decode_settings import DecodeSettings
    from zkconsumer.drain.local.launch import drain_locally, verify_locally
    from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
    from zkconsumer.drain.on_spark.launch import drain, verify
    from zkconsumer.drain.runner import DrainReport
    from zkconsumer.drain.settings import DrainSettings

__all__ = [
    "DecodeSettings",
    "DrainReport",
    "DrainSettings",
    "HadoopStorage",
    "drain",
    "drain_locally",
    "verify",
    "verify_locally",
]

_LATER = {
    "DecodeSettings": "decode_settings",
    "drain_locally": "local.launch",
    "verify_locally": "local.launch",
    "drain": "on_spark.launch",
    "DrainReport": "runner",
    "DrainSettings": "settings",
    "HadoopStorage": "on_spark.hadoop_storage",
    "verify": "on_spark.launch",
}

if not TYPE_CHECKING:
    __getattr__ = load_later(__name__, _LATER)
