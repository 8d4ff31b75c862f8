"""Fetching for a caller that polls: the partitions' positions are his, and move as he takes."""
