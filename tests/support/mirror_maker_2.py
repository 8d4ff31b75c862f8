"""MirrorMaker 2 of Kafka 3.9.1, from its own pinned jars.

``python -m tests.support.mirror_maker_2`` resolves and pins them again.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scripts.lock_jars import pin, render_lock, resolve
from zkconsumer.sandbox import Sandbox, ScalaTool, maven
from zkconsumer.sandbox.jars import user_cache
from zkconsumer.sandbox.java import find_java
from zkconsumer.sandbox.lockfile import JarLock, parse_lock
from zkconsumer.sandbox.processes import SupervisedProcesses
from zkconsumer.sandbox.server import Launcher
from zkconsumer.sandbox.tools import ToolBox
from zkconsumer.sandbox.versions import VERSIONS, KafkaVersion

_VERSION: Final = "3.9.1"
_MAIN: Final = "org.apache.kafka.connect.mirror.MirrorMaker"
_LOCK: Final = Path(__file__).with_name("mirror_maker_2.lock.json")
_HEAP_MB: Final = 768


class _Connect(KafkaVersion):
    """A Kafka version with MirrorMaker's Maven coordinate in place of the broker's."""

    @property
    def coordinate(self) -> str:
        return f"org.apache.kafka:connect-mirror:{self.name}"


def settings_of(
    source: Sandbox, target: Sandbox, topics: str, changes: Mapping[str, str]
) -> dict[str, str]:
    """Return settings that copy topics under the same names, and nothing else."""
    return {
        "clusters": "source, target",
        "source.bootstrap.servers": source.bootstrap_servers,
        "target.bootstrap.servers": target.bootstrap_servers,
        "source->target.enabled": "true",
        "source->target.topics": topics,
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "refresh.topics.interval.seconds": "1",
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "sync.topic.acls.enabled": "false",
        **dict.fromkeys(
            (
                "replication.factor",
                "offset-syncs.topic.replication.factor",
                "offset.storage.replication.factor",
                "status.storage.replication.factor",
                "config.storage.replication.factor",
            ),
            "1",
        ),
        **changes,
    }


class MirrorMaker2:
    """Starts processes of MirrorMaker 2. Thread: one at a time.

    Args:
        tools: runs programs with its jars.
        folder: the folder for its files.
    """

    def __init__(self, tools: ToolBox, folder: Path) -> None:
        self._tools = tools
        self._folder = folder

    def start(
        self,
        source: Sandbox,
        target: Sandbox,
        topics: str,
        *,
        changes: Mapping[str, str] | None = None,
        flags: Sequence[str] = (),
    ) -> ScalaTool:
        """Start a process; a later one continues at the committed offsets.

        Args:
            source: the source cluster.
            target: the target cluster, which also stores its state.
            topics: a regular expression, or names separated by commas.
            changes: further settings.
            flags: options of the JVM.
        """
        file = self._folder / "mm2.properties"
        wanted = settings_of(source, target, topics, changes or {})
        file.write_text("".join(f"{key} = {value}\n" for key, value in wanted.items()))
        return self._tools.start(_MAIN, str(file), flags=flags)


@contextmanager
def mirror_maker_2() -> Iterator[MirrorMaker2]:
    """Yield MirrorMaker 2, ready to start; processes left at the end are killed."""
    jars = parse_lock(_LOCK.read_text())[_VERSION]
    processes = SupervisedProcesses()
    try:
        with tempfile.TemporaryDirectory() as folder:
            launcher = Launcher(
                processes=processes,
                java=find_java(os.environ),
                version=VERSIONS[_VERSION],
                class_path=tuple(user_cache().class_path(jars)),
                heap_mb=_HEAP_MB,
            )
            yield MirrorMaker2(ToolBox(launcher, Path(folder)), Path(folder))
    finally:
        processes.close()


def main() -> None:
    """Write the lock file of its jars beside this file."""
    connect = _Connect(name=_VERSION, scala="2.13", extra=VERSIONS[_VERSION].extra[-2:])
    repository = maven.configured_repository()
    with tempfile.TemporaryDirectory() as scratch:
        jars = resolve(connect, Path(scratch), repository)
        lock = JarLock({_VERSION: pin(jars, Path(scratch), repository)})
    _LOCK.write_text(render_lock(lock), "utf-8")


if __name__ == "__main__":
    main()
