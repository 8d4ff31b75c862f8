"""The ZooKeeper high-level consumer: the public class, its streams, its numbers."""
