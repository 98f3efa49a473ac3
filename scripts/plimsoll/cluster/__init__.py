"""Many hosts: which they are, and how each of them comes to measure. On each the workflow runs as on one machine."""
