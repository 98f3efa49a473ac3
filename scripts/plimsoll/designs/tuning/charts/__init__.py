"""Charts of studies of tuning: each file lists its own in CHARTS."""
