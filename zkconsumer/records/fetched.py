"""Decodes fetched records with the engine of this process.

``decode_fetched`` takes the record set of a Fetch response of any version, with any magic; it
never raises, whatever the bytes. It may run in any thread, and the native core does most of its
work without the GIL.
"""

from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import IsolationLevel

__all__ = ["FetchedRecords", "IsolationLevel", "decode_fetched"]
