"""``zkconsumer replay``: prints a range of a topic again, without affecting groups."""
