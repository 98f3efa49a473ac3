"""Faults that are drawn from a seed, against each study: `make faults HOURS=...`. docs/faults.md has the results."""
