"""What the caller iterates: bounded chunk queues, streams, messages, decoders."""
