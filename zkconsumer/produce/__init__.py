"""A minimal producer: for tests, the demo and mirroring; no replacement of a full one."""
