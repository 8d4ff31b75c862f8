"""kafka-python's own consumer tests, run against ours with nothing but their imports changed.

``python -m tests.kafka_python`` fetches its source distributions, which hold them; nothing of them
is kept in this repository. See docs/testing.md.
"""
