"""``zkconsumer groups``: lists, describes, watches and deletes consumer groups."""
