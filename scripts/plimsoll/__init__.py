"""Plimsoll: reproduce published studies of container performance on the machine at hand."""
