"""Reads and writes a drain's messages in this process, without Spark or Java."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from zkconsumer.drain.adopted_schemas import AdoptedSchemas
from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB, beyond_local, scheme_of
from zkconsumer.drain.engine import Ends
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.local.data_files import DataFiles, LocalFiles, StreamedStorage
from zkconsumer.drain.local.decoded import row_decoder
from zkconsumer.drain.local.errors import described_by_arrow
from zkconsumer.drain.local.landed import LocalRows
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import TABLE_MB, Shares
from zkconsumer.drain.local.reading import LocalRangeRows
from zkconsumer.drain.local.writer import LocalWriter
from zkconsumer.drain.protocols import Landing
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import ConfigError


class LocalEngine:
    """Runs a drain in this process. See ``DrainEngine``."""

    def __init__(self, memory_mb: int = DEFAULT_MEMORY_MB) -> None:
        self._memory_mb = memory_mb
        self._cores = _cores()

    def storage(self, path: str) -> Storage:
        """See ``DrainEngine``: a folder on this machine, in a bucket or in HDFS."""
        _refuse(beyond_local(path, None))
        match scheme_of(path):
            case "file":
                return LocalStorage(path)
            case "hdfs":
                from zkconsumer.drain.local.hdfs_storage import HdfsStorage  # noqa: PLC0415 - optional

                return HdfsStorage(path)
            case _:
                from zkconsumer.drain.local.object_storage import ObjectStorage  # noqa: PLC0415 - optional

                return ObjectStorage(path)

    def landing(self, settings: DrainSettings, storage: Storage, ends: Ends) -> Landing:
        """See ``DrainEngine``."""
        _refuse(beyond_local(settings.path, settings.format))
        file_format = "json" if settings.format == "json" else "parquet"
        files = self._files(storage)
        shares = Shares.of(
            self._memory_mb,
            self._cores,
            held_bytes=files.held_bytes,
            libraries_mb=TABLE_MB if settings.format == "iceberg" else 0,
        )
        decoder = None
        if settings.decode is not None:
            kept = partial(AdoptedSchemas, storage)
            decoder = row_decoder(settings.decode, "".join(settings.topics[:1]), kept)
        rows = LocalRangeRows(settings.checked(), shares, with_headers=decoder is not None)
        if settings.format == "iceberg":
            from zkconsumer.drain.local.iceberg_landing import IcebergLanding  # noqa: PLC0415 - optional
            from zkconsumer.drain.local.iceberg_table import IcebergTable  # noqa: PLC0415

            table = IcebergTable(settings.table_name(), storage, settings.target_options)
            writer = LocalWriter(rows, files, ends, file_format, decoder, table.file_columns)
            return IcebergLanding(storage, lambda: files, table, writer)
        writer = LocalWriter(rows, files, ends, file_format, decoder)
        if settings.format == "delta":
            from zkconsumer.drain.landing_delta import DeltaLanding  # noqa: PLC0415 - optional

            columns = None if decoder is None else decoder.columns
            return DeltaLanding(storage, writer, settings, columns=columns)
        return FilesLanding(storage, writer)

    def landed(self, storage: Storage, paths: Sequence[str], file_format: str) -> LocalRows:
        """See ``DrainEngine``."""
        shares = Shares.of(self._memory_mb, self._cores)
        return LocalRows(self._files(storage), paths, file_format, shares)

    def mirrored(
        self, storage: Storage, identity: DrainIdentity, last: int, options: Mapping[str, str]
    ) -> LocalRows:
        """See ``DrainEngine``: always refused."""
        del storage, last, options
        raise ConfigError(
            f"the local engine can't read what is mirrored to {identity.target}: use --engine spark"
        )

    def converted_errors(self, what: str) -> AbstractContextManager[None]:
        """See ``DrainEngine``."""
        return described_by_arrow(what)

    def _files(self, storage: Storage) -> DataFiles:
        return storage if isinstance(storage, StreamedStorage) else LocalFiles(storage)


def _cores() -> int:
    """Return the number of processors that this process may use; all if that is unknown."""
    reported = getattr(os, "sched_getaffinity", None)
    return len(reported(0)) if reported is not None else os.cpu_count() or 1


def _refuse(obstacle: str | None) -> None:
    if obstacle is not None:
        raise ConfigError(obstacle)
