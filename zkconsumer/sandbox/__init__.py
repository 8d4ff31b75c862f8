"""Runs a real ZooKeeper and real brokers of any version, as child processes on loopback.

Public names: ``Sandbox``, its ``SandboxOptions``, the ``ClientAccess`` of a secured one, and the
results of its tools.
"""

from zkconsumer.sandbox.cluster import Sandbox
from zkconsumer.sandbox.secured import ClientAccess
from zkconsumer.sandbox.settings import SandboxOptions
from zkconsumer.sandbox.tools import ScalaTool, ToolResult
from zkconsumer.sandbox.versions import DEFAULT_KAFKA, VERSIONS

__all__ = [
    "DEFAULT_KAFKA",
    "VERSIONS",
    "ClientAccess",
    "Sandbox",
    "SandboxOptions",
    "ScalaTool",
    "ToolResult",
]
