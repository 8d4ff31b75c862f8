"""A real ZooKeeper and real brokers of any version, as child processes on loopback.

Public names: ``Sandbox`` (see there), its ``SandboxOptions``, what a client of a secured one is
given, and what its tools give back.
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
