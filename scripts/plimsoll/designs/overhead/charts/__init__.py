"""Charts of studies of overhead. Each file of this folder lists its charts in CHARTS."""
