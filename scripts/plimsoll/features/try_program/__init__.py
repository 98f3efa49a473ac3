"""`plimsoll try`: a study of a program of the user, from its files and its image to the answer."""

# Functions that others may call, by what they ask for.
OFFERS = {
    "measure_own": "start.measure_own",
    "begin_study": "begin.of_program",
}
