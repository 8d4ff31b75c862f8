"""``make bench``: our consumer compared with others on a real broker 0.8.2.2, in alternating runs.

``contestants`` lists and runs the contestants; ``clients`` has the programs that they run, each in
its own process and, for other people's clients, in its own environment. docs/performance.md
explains how to read the results.
"""
