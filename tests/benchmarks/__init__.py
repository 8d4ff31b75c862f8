"""``make bench``: our consumer beside others, on a real broker 0.8.2.2, in alternating runs.

``contestants`` says who takes part and how each is run; ``clients`` are the programs that run, each
in a process and, for other people's clients, an environment of its own. docs/performance.md says
how to read what comes out.
"""
