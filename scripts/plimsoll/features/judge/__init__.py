"""`plimsoll judge`: decide claims about a table that a user has measured."""
