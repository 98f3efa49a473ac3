"""Charts of studies of nesting: each file lists its own in CHARTS."""
