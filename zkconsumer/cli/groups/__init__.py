"""``zkconsumer groups``: list, describe and watch consumer groups; delete them, if asked."""
