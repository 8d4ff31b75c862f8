"""Lands messages in an Iceberg table: writes files as usual, then adds them in one table commit.

Readers of the table see a batch as a whole or not at all.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from zkconsumer.drain.landing_files import FilesLanding, RowWriter
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.errors import described_by_arrow
from zkconsumer.drain.local.footers import read_footer
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage


class IcebergLanding(FilesLanding):
    """Lands batches in an Iceberg table. See ``Landing``.

    Args:
        storage: the drain's storage, which also holds the table's files.
        files: returns the opener of the table's files; called once the table exists.
        writer: writes Parquet files, with the columns of the table's ``file_columns``.
    """

    def __init__(
        self,
        storage: Storage,
        files: Callable[[], DataFiles],
        table: IcebergTable,
        writer: RowWriter,
    ) -> None:
        super().__init__(storage, writer)
        self._files = files
        self._table = table

    def land(self, plan: BatchPlan, attempt: str) -> Manifest:
        """Stage the files, provided that the table has all earlier batches."""
        self._table.expect(plan.number)
        return super().land(plan, attempt)

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Move the files, then add them to the table, once."""
        super().publish(plan, manifest)
        # A catalog request for each file would take longer than reading its footer.
        opened = cache(self._files)

        def footer(file: LandedFile, ids: Mapping[str, int]) -> Mapping[str, Any]:
            with described_by_arrow(file.path):
                return read_footer(opened(), file.path, ids)

        self._table.append(manifest, footer)
