"""The streaming reader for Spark versions that pass a batch's start and its limit.

Source: PySpark 4.3 ``pyspark.sql.streaming.datasource``, added in 4.2.
"""

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from zkconsumer.spark.offset_json import to_json
from zkconsumer.spark.stream_reader import JsonOffset, ZkStreamReader


class ZkAdmittingReader(ZkStreamReader, SupportsTriggerAvailableNow):
    """A streaming reader that applies the limits of trigger and options."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the options' limit; if they set two, ``latestOffset`` applies the other."""
        if self.options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self.options.max_offsets_per_trigger)
        if self.options.min_offsets_per_trigger is not None:
            return ReadMinRows(self.options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """End the query at the current log ends."""
        self.plan.prepare_available_now()

    def latestOffset(self, start: JsonOffset, limit: ReadLimit) -> JsonOffset:  # noqa: N802
        """Return the next batch's end; commit everything before ``start``, which is complete."""
        # A trigger that reads everything at once overrides the options.
        unlimited = limit == ReadAllAvailable() != self.getDefaultReadLimit()
        return self.next_end(start, unlimited=unlimited)

    def reportLatestOffset(self) -> JsonOffset | None:  # noqa: N802
        """Return the log ends, for the query's progress."""
        ends = None if self.begun is None else self.begun.ends
        return None if ends is None else {**to_json(ends)}
