"""A cluster and its groups as one pure snapshot, and the rules that judge it.

Command line, metrics and page show the same values from here; ``model`` says what they are.
"""
