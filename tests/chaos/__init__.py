"""Real faults on a real cluster: does every acknowledged message arrive, and what came twice?"""
