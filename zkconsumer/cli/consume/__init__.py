"""``zkconsumer consume``: the console consumer."""
