"""The manual page, which ``scripts/make-manual`` makes from the parsers of the commands."""
