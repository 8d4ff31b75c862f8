"""A coordinator's group behind the poll API: the member's part in the caller's thread."""
