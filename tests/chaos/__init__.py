"""Real faults on a real cluster: is each acknowledged message delivered, and what is repeated?"""
