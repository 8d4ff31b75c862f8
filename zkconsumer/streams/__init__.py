"""Streams, which a caller reads: bounded chunk queues, iterators, messages, decoders."""
