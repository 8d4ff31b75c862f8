"""Members of groups: kept by ZooKeeper, by a coordinator, or none; two faces stand above them."""
