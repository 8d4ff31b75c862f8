"""``zkconsumer perf``: how fast topics can be read (the original's ``ConsumerPerformance``)."""
