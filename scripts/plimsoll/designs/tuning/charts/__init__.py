"""Charts of studies of tuning. Each file of this folder lists its charts in CHARTS."""
