"""The manual page, generated from the commands' parsers by ``scripts/make-manual``."""
