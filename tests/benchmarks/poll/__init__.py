"""``make bench-poll``: the poll API beside kafka-python and confluent-kafka on a modern broker.

All are members of coordinator groups, on the same topics of record batches, in one table.
docs/performance.md says how to read what comes out.
"""
