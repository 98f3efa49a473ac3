"""`plimsoll compare`: say what changed between two sets of results of the same studies."""
