"""Core of polled fetching and ranges: pure state and planning, and the connection to a broker."""
