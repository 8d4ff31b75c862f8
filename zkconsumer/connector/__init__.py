"""The ZooKeeper high-level consumer: its rebalance, its control thread, its public class."""
