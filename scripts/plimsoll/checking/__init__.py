"""Own results beside the reference measurements, for who evaluates an artifact: which claims both decide, and how."""
