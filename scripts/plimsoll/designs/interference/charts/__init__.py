"""Charts of interference studies. Each file lists its charts in CHARTS."""
