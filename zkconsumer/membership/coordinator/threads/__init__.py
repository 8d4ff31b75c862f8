"""The threads of a coordinator's member, their connections, and what they share."""
