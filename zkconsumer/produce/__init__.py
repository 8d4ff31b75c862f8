"""A minimal producer: for tests, the demo and mirroring; not a replacement of a real one."""
