"""Charts of studies of interference: each file lists its own in CHARTS."""
