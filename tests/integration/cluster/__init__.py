"""Questions to real clusters."""
