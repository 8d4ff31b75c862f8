"""Land an Iceberg table: files as usual, then one table commit that adds them.

Readers of the table see a batch as a whole or not at all.
"""

from collections.abc import Callable
from functools import cache

from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_files import FilesLanding, RowWriter
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.errors import described_by_arrow
from zkconsumer.drain.local.footers import FileFooter, read_footer
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage


class IcebergLanding(FilesLanding):
    """Lands batches in an Iceberg table. See ``Landing``.

    Args:
        storage: the drain's; the table's files are there, too.
        files: gives what opens the table's files, once it is there.
        writer: writes Parquet, with the columns that ``file_columns`` of the table gives.
    """

    def __init__(
        self,
        storage: Storage,
        files: Callable[[], DataFiles],
        table: IcebergTable,
        writer: RowWriter,
    ) -> None:
        super().__init__(storage, writer)
        self._journal = BatchJournal(storage)
        self._files = files
        self._table = table

    def land(self, plan: BatchPlan, attempt: str) -> Manifest:
        """Stage the files, if the table has all earlier batches."""
        self._table.expect(self._journal.drain_id(), plan.number)
        return super().land(plan, attempt)

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Move the files, then add them to the table, once."""
        super().publish(plan, manifest)
        # Asking the catalog for each file would take longer than reading its footer.
        opened = cache(self._files)

        def footer(file: LandedFile) -> FileFooter:
            with described_by_arrow(file.path):
                return read_footer(opened(), file.path)

        self._table.append(self._journal.drain_id(), manifest, footer)
