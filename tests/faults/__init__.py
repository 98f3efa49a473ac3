"""Faults that are drawn from a seed, against each study: `make faults HOURS=...`. docs/reports/faults.md has the results."""
