"""`plimsoll try`: a study of a program of the user, from its files and its image to the answer."""
