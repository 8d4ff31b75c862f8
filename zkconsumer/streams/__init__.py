"""What the caller reads from: bounded chunk queues, streams, messages, decoders."""
