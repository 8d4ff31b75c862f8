"""``make bench-rebalance``: how long a group stands still, ours and the original's."""
