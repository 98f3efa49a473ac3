"""Verdicts on the claims of the papers: claims as data (config/claims/), tested against this machine's observations.

`book` reads the claims. The study's design finds the cells that a claim compares (`sides`), and `study_observations` holds
their observations. `quantities` and `compare` make the comparisons, and `verdicts` judges them (pure functions). `evaluate`
runs these steps, and `findings` holds the results.
"""
