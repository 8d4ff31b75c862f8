"""``make bench-spark``: our Spark source on an old broker beside Spark's own on a modern one.

Both read the same records on the same machine, each in a session of its own that lives on, by
turns. docs/performance.md says how to read what comes out.
"""
