"""Images in a file, for a machine that cannot build them."""
