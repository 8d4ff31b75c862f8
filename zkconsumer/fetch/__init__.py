"""From a broker to the chunk queues: positions, requests, leaders, one thread per broker."""
