"""Mutants of the package that its tests must detect: ``make mutants``, see ``docs/testing.md``."""
