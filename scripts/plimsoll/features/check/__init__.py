"""`plimsoll check`: own results beside the reference measurements, for who evaluates an artifact."""
