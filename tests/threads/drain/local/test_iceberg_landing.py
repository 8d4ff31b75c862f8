"""Landing a batch in an Iceberg table: what is looked up once, and what for each file."""

from pathlib import Path

import pyarrow as pa

from tests.support.begun_drains import DRAIN, begin
from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.landing_files import WrittenRows
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.dated_files import DatedFiles, FileNaming
from zkconsumer.drain.local.iceberg_landing import IcebergLanding
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.manifest import LandedPart
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.table_name import TableName
from zkconsumer.model import OffsetRange, TopicPartition

DAY_US = 86_400_000_000
DAYS = 5
TP = TopicPartition("t", 0)
RANGE = OffsetRange(topic_partition=TP, from_offset=0, until_offset=DAYS)
PLAN = BatchPlan(number=1, created_ms=0, positions={TP: 0}, starts={TP: 0}, ranges=(RANGE,))


class DatedWriter:
    """Writes one row for each of five days. See ``RowWriter``.

    Args:
        files: opens the files.
        table: defines their columns.
    """

    def __init__(self, files: LocalFiles, table: IcebergTable) -> None:
        self._files = files
        self._table = table

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """See ``RowWriter``."""
        naming = FileNaming(
            folder=folder,
            topic=TP.topic,
            task=0,
            file_format="parquet",
            created_ms=plan.created_ms,
            file_columns=self._table.file_columns,
        )
        dated = DatedFiles(self._files, naming, Shares.of(256, 1))
        rows = [{"partition": 0, "offset": at, "timestamp": at * DAY_US} for at in range(DAYS)]
        dated.write(pa.RecordBatch.from_pylist(rows, SCHEMA))
        paths = [path.removeprefix(f"{folder}/") for path in dated.close()]
        parts = tuple(LandedPart(offsets=wanted, contents=Contents()) for wanted in plan.ranges)
        return WrittenRows(parts, paths)


def test_the_files_of_a_batch_are_opened_once(tmp_path: Path) -> None:
    """They are however many there are, and not again once the table has the batch."""
    storage = LocalStorage(str(tmp_path))
    files = LocalFiles(storage)
    begin(storage)
    table = IcebergTable(TableName(), storage, {})
    opens: list[str] = []

    def opened() -> LocalFiles:
        opens.append("files")
        return files

    landing = IcebergLanding(storage, opened, table, DatedWriter(files, table))
    manifest = landing.land(PLAN, "a")
    assert len(manifest.files) == DAYS
    for _ in range(2):
        landing.publish(PLAN, manifest)
        assert opens == ["files"]
    assert len(table.state(DRAIN).files) == DAYS
