"""Benchmarks of the workflow's own cost, printed and never asserted: run them on a quiet machine with `make bench`."""
