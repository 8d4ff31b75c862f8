"""``zkconsumer mirror``: copies topics to another cluster; ``mirror verify``: proves it."""
