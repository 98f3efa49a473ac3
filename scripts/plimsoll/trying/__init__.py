"""A study of a program of the user's: what it runs, the files that it needs, and measuring it stage by stage."""
