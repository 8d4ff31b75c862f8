"""Members of groups: kept by ZooKeeper, by a coordinator, or none; below two public faces."""
