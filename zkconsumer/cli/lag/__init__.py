"""``zkconsumer lag``: how far groups are behind, in records and in seconds."""
