"""The page: a cluster of the ZooKeeper era in a browser, read-only (extra ``web``)."""
