"""``zkconsumer offsets``: exports, imports, sets and migrates committed offsets."""
