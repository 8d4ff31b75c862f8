"""Decoding for a poll, with whichever engine runs here: the door for those who fetch.

``decode_fetched`` takes what a broker answered to a Fetch of any version, whatever magics are in
it; never raises, whatever the bytes. It may run in any thread, and where the native core is there,
it does most of its work without the GIL.
"""

from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.slices import FetchedRecords, RecordSlice
from zkconsumer.records.transactions import IsolationLevel

__all__ = [
    "ConsumerRecord",
    "FetchedRecords",
    "IsolationLevel",
    "RecordOrigin",
    "RecordSlice",
    "decode_fetched",
]
