"""Fetching for a caller that polls: positions move as records are handed to the caller."""
