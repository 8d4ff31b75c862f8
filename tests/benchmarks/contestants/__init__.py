"""Who takes part, and how each is run; ``catalog`` lists them."""
