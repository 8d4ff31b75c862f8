"""The native decode core: C in ``csrc``, and ``_core``, the thin module that shows it to Python.

It may be missing (no compiler at install time): only ``records.engine`` checks whether it is there.
"""
