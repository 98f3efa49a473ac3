"""Charts of studies of overhead: each file lists its own in CHARTS."""
