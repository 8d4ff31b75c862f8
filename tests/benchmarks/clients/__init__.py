"""The programs that are measured.

They also run in other environments, so each file imports only the standard library, its neighbours
here and the client that it runs.
"""
