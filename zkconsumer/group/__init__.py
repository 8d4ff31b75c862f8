"""Membership in a coordinator's group, as decisions only: events in, actions out."""
