"""``zkconsumer perf``: measures how fast topics can be read (``ConsumerPerformance``)."""
