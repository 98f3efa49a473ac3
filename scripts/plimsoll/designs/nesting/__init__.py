"""Instances of a program, and creations of containers, in some number at once: amaral2015's first three experiments."""
