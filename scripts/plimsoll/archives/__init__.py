"""Results that travel: all that was measured in one zip file, from which everything else is made again (docs/archives.md)."""
