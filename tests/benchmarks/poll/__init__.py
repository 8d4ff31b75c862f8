"""``make bench-poll``: our poll API, kafka-python and confluent-kafka on a modern broker.

All are members of coordinator groups, on the same topics of record batches, in one table.
docs/performance.md explains how to read the results.
"""
