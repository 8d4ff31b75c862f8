"""The output formats of the commands, and the files that they read and write. Pure.

Modules that are named after a tool of the original return exactly what that tool prints, so that
scripts keep working. Where the original fails halfway and these do not, the docstring says so.
"""
