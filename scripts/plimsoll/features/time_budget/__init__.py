"""A time budget: `--hours` and `--minutes` measure in two stages, where the time decides most."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "stages": "stages.add",
    "measure_for": "stages.measure_for",
    "hours_for": "stages.hours_for",
    "check_minutes": "stages.check",
}
