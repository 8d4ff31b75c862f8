"""The control thread of a ZooKeeper member, which runs the core and executes its actions."""
