"""What polls and ranges fetch with: pure state and planning, and the connection to a broker."""
