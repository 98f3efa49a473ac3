"""One file a kind of chart."""
