"""The messages, one file per API: one frozen dataclass for all versions of each."""
