"""What landings are made from."""

from dataclasses import dataclass

from pyspark.sql import SparkSession

from zkconsumer.drain.rows import RangeRows, RowCounter
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One drain's settings, session, storage and rows.

    Attributes:
        settings: of the drain.
        session: to read and write with; the drain's own.
        storage: at the drain's path.
        rows: reads ranges of the source.
        counter: counts what was landed, and asks the source about what is missing.
    """

    settings: DrainSettings
    session: SparkSession
    storage: Storage
    rows: RangeRows
    counter: RowCounter
