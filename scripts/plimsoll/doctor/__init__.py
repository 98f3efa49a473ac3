"""What this machine means for verdicts, and what to type about it: looked at before measuring."""
