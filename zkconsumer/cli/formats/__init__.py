"""The texts that the commands print and the files they read and write: pure.

What is named after a tool of the original prints what that tool prints, to the byte, so that
scripts which read it go on working. Where the original gives up in the middle and this does not,
the function says so.
"""
