"""Verdicts: what the papers say, as data (config/claims/), tested against this machine's observations.

`book` reads the claims, `contrasts` finds the cells that a claim compares, `estimates` compares their observations, `verdicts`
judges (pure functions), `evaluate` puts these together, `page` shows the outcome.
"""
