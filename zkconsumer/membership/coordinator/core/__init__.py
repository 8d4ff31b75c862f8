"""The decisions of a coordinator's member: events in, actions out. Pure."""
