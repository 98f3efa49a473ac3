"""`plimsoll session`: measure studies once more, after a restart of the engine."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "stages": "stages.add",
}
