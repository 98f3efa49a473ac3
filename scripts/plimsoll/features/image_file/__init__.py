"""Images in a file, for a machine that cannot build them."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "stages": "stages.add",
    "take_images": "stages.take_images",
}
