"""Charts of splitting studies. Each file of this folder lists its charts in CHARTS."""
