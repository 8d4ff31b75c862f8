"""The ZooKeeper high-level consumer: its public class, streams and metrics."""
