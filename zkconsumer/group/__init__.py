"""Membership in a group that a coordinator keeps, as decisions only: events in, actions out."""
