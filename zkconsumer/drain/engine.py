"""The interface between the steps of a drain and the engine that reads and writes messages.

Plan, manifest, state and files are the same for every engine, so a drain that began on one engine
can continue on another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.plan import Positions
from zkconsumer.drain.protocols import Landing
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import Difference, Differing
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage
from zkconsumer.model import TopicPartition
from zkconsumer.spark.data_loss import LogBounds

Ends = Callable[[Sequence[TopicPartition], Positions], LogBounds]
"""Reads log starts and ends from the cluster; see ``DrainClusterSource.ends``."""


class LandedRows(Protocol):
    """Reads the messages landed by all batches. Methods raise ``DrainError`` on failure."""

    def unplaced(self) -> int:
        """Return the number of rows without a position, which other methods ignore."""
        ...

    def contents(self) -> Mapping[TopicPartition, Contents]:
        """Return count, bounds and checksum of each topic-partition that has rows."""
        ...

    def runs(self) -> Iterator[tuple[TopicPartition, Iterable[Run]]]:
        """Yield topic-partitions, each with its sorted runs; consume these before the next."""
        ...

    def differences(
        self, options: Mapping[str, str], ranges: Mapping[TopicPartition, Run]
    ) -> Mapping[TopicPartition, Mapping[Difference, Differing]]:
        """Compare the rows with the cluster's messages at these offsets, one by one.

        Args:
            options: the options of the source, without the subscription.
            ranges: the offsets to compare, by topic-partition.

        Raises:
            ZkConsumerError: the cluster can't be read.
        """
        ...


class DrainEngine(Protocol):
    """Reads and writes a drain's messages. Thread: one at a time."""

    def storage(self, path: str) -> Storage:
        """Open the storage that holds a drain.

        Raises:
            ConfigError: this engine can't write there.
            DrainError: the storage can't be reached.
        """
        ...

    def landing(self, settings: DrainSettings, storage: Storage, ends: Ends) -> Landing:
        """Return the landing for the format that the settings name.

        Raises:
            ConfigError: this engine has no such format, or a package is not installed.
        """
        ...

    def landed(self, storage: Storage, paths: Sequence[str], file_format: str) -> LandedRows:
        """Return the rows of landed files.

        Unreadable files count as empty, so that their messages are found missing.

        Args:
            storage: the drain's storage.
            paths: the paths of files below it, in ``topic=T/date=D`` folders.
            file_format: ``parquet`` or ``json``.
        """
        ...

    def mirrored(
        self, storage: Storage, identity: DrainIdentity, last: int, options: Mapping[str, str]
    ) -> LandedRows:
        """Return the rows that a drain mirrored, up to its batch ``last``.

        Args:
            storage: the storage of the drain's own files.
            identity: the drain's identity.
            last: the number of the last batch.
            options: options for reading the target.

        Raises:
            ConfigError: this engine can't read mirrors.
        """
        ...

    def converted_errors(self, what: str) -> AbstractContextManager[None]:
        """Convert the engine's exceptions to a ``DrainError``."""
        ...
