"""Mutants of the package that its tests must notice: ``make mutants``, see ``docs/testing.md``."""
