"""Archives: all measurements of studies in one zip file, from which all else can be made again (docs/reports/archives.md)."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "stages": "stages.add",
    "remake": "remake.from_archive",
    "pack": "packing.pack_study",
    "folder_of": "opening.folder_of",
    "reference_of": "opening.reference_of",
}
