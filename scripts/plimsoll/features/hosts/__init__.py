"""Many hosts: the workflow runs on each of them as on one machine, and a page says which claims hold where."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "stages": "stages.add",
}
