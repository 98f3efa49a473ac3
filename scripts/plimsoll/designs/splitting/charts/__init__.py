"""Charts of studies of one application over containers: each file lists its own in CHARTS."""
