"""``make bench-spark``: our Spark source on an old broker, and Spark's own on a modern one.

Both read the same records on the same machine, in turns, each in its own long-lived session.
docs/performance.md explains how to read the results.
"""
