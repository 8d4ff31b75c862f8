"""The contestants, and how each is run; ``catalog`` lists them."""
