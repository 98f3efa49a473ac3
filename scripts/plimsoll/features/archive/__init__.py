"""Archives: all measurements of studies in one zip file, from which all else can be made again (docs/reports/archives.md)."""
