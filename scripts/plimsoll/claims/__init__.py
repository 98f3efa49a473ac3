"""Verdicts: what the papers say, as data (config/claims/), tested against this machine's observations.

`book` reads the claims. The study's design finds the cells that a claim compares (`sides`), and `measured` has their
observations. `quantities` and `compare` make the comparisons, `verdicts` judges them (pure functions), `evaluate` puts these
together, and `findings` has what comes out.
"""

# Of claims.json, comparisons.csv and answer.csv. It is a parameter of the rule that makes them: raise it when what these files
# hold changes, so that files of an older version are made again.
FORMAT = 8
