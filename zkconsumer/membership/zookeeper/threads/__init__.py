"""The control thread of a ZooKeeper member: it runs the core, and what each action does."""
