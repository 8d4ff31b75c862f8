"""A cluster and its groups as one pure snapshot, and the rules that assess it.

Command line, metrics and web pages show the same values from here; ``model`` defines them.
"""
