"""Compare two sets of results of the same studies: read them, check that they can be compared, and compare them."""
