"""Programs that a type checker must accept, and lines that it must refuse."""
