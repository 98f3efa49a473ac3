"""Bills of materials: what images hold, package by package, and what Debian has fixed since."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "stages": "stages.add",
}
