"""Sets of results: read them, and tell whether two can be compared, and where their verdicts differ."""
