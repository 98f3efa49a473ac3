"""Charts of studies of nesting. Each file lists its charts in CHARTS."""
