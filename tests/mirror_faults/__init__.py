"""MirrorMaker's known faults, and how each mirror behaves in them.

Run by ``python -m tests.mirror_faults``.
"""
