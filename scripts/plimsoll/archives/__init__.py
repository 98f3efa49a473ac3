"""Archives: all measurements of studies in one zip file, from which everything else can be made again (docs/reports/archives.md)."""
