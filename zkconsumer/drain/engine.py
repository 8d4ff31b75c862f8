"""What reads and writes a drain's messages: the seam between its steps and an engine.

Plan, manifest, state and files are the same whatever engine runs, so that a drain that began on one
goes on with another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.landing import Landing
from zkconsumer.drain.plan import LogEnds, Positions
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import Difference, Differing
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage
from zkconsumer.model import TopicPartition

Ends = Callable[[Sequence[TopicPartition], Positions], Mapping[TopicPartition, LogEnds]]
"""Asks the cluster where logs begin and end; see ``ClusterSource.ends``."""


class LandedRows(Protocol):
    """Messages as they lie in a landing, of whatever batch. All methods raise ``DrainError``."""

    def unplaced(self) -> int:
        """How many rows have no topic, partition or offset; no other method counts these."""
        ...

    def contents(self) -> Mapping[TopicPartition, Contents]:
        """What the rows of each topic-partition add up to, of each that has one."""
        ...

    def runs(self) -> Iterator[tuple[TopicPartition, Iterable[Run]]]:
        """The offsets of each topic-partition as sorted runs; taken before going on to the next."""
        ...

    def differences(
        self, options: Mapping[str, str], ranges: Mapping[TopicPartition, Run]
    ) -> Mapping[TopicPartition, Mapping[Difference, Differing]]:
        """Hold the rows against what the cluster has at these offsets, message by message.

        Args:
            options: of the source, but for what is read.
            ranges: what of each topic-partition is compared.

        Raises:
            ZkConsumerError: the cluster can't be read.
        """
        ...


class DrainEngine(Protocol):
    """One way to read and write messages. Thread: one at a time."""

    @property
    def name(self) -> str:
        """What ``--engine`` calls it."""
        ...

    def storage(self, path: str) -> Storage:
        """The place where a drain lies.

        Raises:
            ConfigError: this engine can't write there.
            DrainError: it can't be reached.
        """
        ...

    def landing(self, settings: DrainSettings, storage: Storage, ends: Ends) -> Landing:
        """What lands the format that the settings name.

        Raises:
            ConfigError: this engine has no such format, or a package is not installed.
        """
        ...

    def landed(self, storage: Storage, paths: Sequence[str], file_format: str) -> LandedRows:
        """The rows of landed files.

        Files that can't be read count as empty, so that what they held is found missing.

        Args:
            storage: the drain's.
            paths: of files below it, in ``topic=T/date=D`` folders.
            file_format: ``parquet`` or ``json``.
        """
        ...

    def mirrored(
        self, storage: Storage, identity: DrainIdentity, last: int, options: Mapping[str, str]
    ) -> LandedRows:
        """What a drain wrote to another cluster, up to the end of its batch ``last``.

        Args:
            storage: the drain's own files.
            identity: of the drain.
            last: number of a batch.
            options: for reading the target.

        Raises:
            ConfigError: this engine can't read mirrors.
        """
        ...

    def telling(self, what: str) -> AbstractContextManager[None]:
        """Turn what the engine raises into a ``DrainError``.

        Args:
            what: was tried, for the message.
        """
        ...
