"""The messages, one file per API: one class for all versions of each."""
