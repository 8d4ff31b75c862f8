"""Land an Iceberg table: files as usual, then one table commit that adds them.

Readers of the table see a batch as a whole or not at all.
"""

from collections.abc import Callable
from functools import cache

from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_files import FilesLanding, RowWriter
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.errors import described_by_arrow
from zkconsumer.drain.local.footers import FileFooter, read_footer
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError


class IcebergLanding:
    """Lands batches in an Iceberg table. See ``Landing``.

    Args:
        storage: the drain's; the table's files are there, too.
        files: gives what opens the table's files, once it is there.
        writer: writes Parquet, with the columns that ``columns`` of this gives.
    """

    def __init__(
        self,
        storage: Storage,
        files: Callable[[], DataFiles],
        table: IcebergTable,
        writer: RowWriter,
    ) -> None:
        self._journal = BatchJournal(storage)
        self._files = files
        self._table = table
        self._landing = FilesLanding(storage, writer, "parquet")

    @property
    def format(self) -> str:
        """See ``Landing``."""
        return "iceberg"

    def prepare(self, plan: BatchPlan) -> dict[str, JsonValue]:
        """Return no notes: the table needs none."""
        return self._landing.prepare(plan)

    def land(self, plan: BatchPlan, attempt: str) -> Manifest:
        """Stage the files, if the table has all earlier batches."""
        self._table.expect(drain_id(self._journal), plan.number)
        return self._landing.land(plan, attempt)

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Move the files, then add them to the table, once."""
        self._landing.publish(plan, manifest)
        # Asking the catalog for each file would take longer than reading its footer.
        opened = cache(self._files)

        def footer(file: LandedFile) -> FileFooter:
            with described_by_arrow(file.path):
                return read_footer(opened(), file.path)

        self._table.append(drain_id(self._journal), manifest, footer)


def drain_id(journal: BatchJournal) -> str:
    """Return the id of the drain in this storage.

    Raises:
        DrainError: its identity file is gone.
    """
    identity = journal.identity()
    if identity is None:
        raise DrainError(f"{journal.path}: the drain's identity is gone")
    return identity.id
