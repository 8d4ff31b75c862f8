"""The messages, a file per API: one frozen dataclass for all versions of each."""
