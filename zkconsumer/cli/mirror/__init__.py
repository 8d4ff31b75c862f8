"""``zkconsumer mirror``: copy topics to another cluster; ``mirror verify``: prove it."""
