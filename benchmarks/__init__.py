"""Measurements that take too long, or tell too much about the machine, to be tests."""
