"""Files that are printed from the tables of the product, so that nothing is stated twice."""
