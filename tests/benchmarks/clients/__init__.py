"""The programs under measurement.

They run in other environments, too: a file imports the standard library and the client that it is
about, nothing else.
"""
