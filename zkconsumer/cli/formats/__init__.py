"""The output formats of the commands and the files that they read and write: pure.

Modules named after a tool of the original print exactly what that tool prints, so that scripts keep
working. Where the original fails halfway and this does not, the function says so.
"""
