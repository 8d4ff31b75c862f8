"""``make bench-rebalance``: how long rebalances stop a group of our members, or the original's."""
