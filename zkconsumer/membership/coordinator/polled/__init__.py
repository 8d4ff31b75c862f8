"""A coordinator's group behind the poll API: the member in the caller's thread."""
