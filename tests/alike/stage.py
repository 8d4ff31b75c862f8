"""The topics that cases only read; ``writing`` creates and fills them."""

LETTERS, MANY, TRANSACTIONS, EMPTY = "letters", "many", "transactions", "empty"
MANY_COUNT = 1200
FIRST_MS = 1_700_000_000_000
"""The timestamp of each partition's first record; each next one is a second later."""
CODECS = ("gzip", "snappy", "lz4", "zstd")


def time_of(number: int) -> int:
    """The timestamp of record ``number`` of a partition, in ms."""
    return FIRST_MS + 1000 * number
