"""Charts of studies of a program. Each file of this folder lists its charts in CHARTS."""
