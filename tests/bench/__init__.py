"""Figures about the workflow's own cost. They are printed, never asserted: run them on a quiet machine with `make bench`."""
