"""`plimsoll doctor`: what this machine means for verdicts, and what to type about it."""
