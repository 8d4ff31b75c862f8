"""What lies in the topics that cases only read; ``writing`` puts it there."""

LETTERS, MANY, TRANSACTIONS, EMPTY = "letters", "many", "transactions", "empty"
MANY_COUNT = 1200
FIRST_MS = 1_700_000_000_000
"""The time of the first record of each partition; a second passes between two."""
CODECS = ("gzip", "snappy", "lz4", "zstd")


def time_of(number: int) -> int:
    """When record ``number`` of a partition was written, in ms."""
    return FIRST_MS + 1000 * number
