"""Fuzzing of every reader of the project: mutations of real files, and what Hypothesis makes up.

A reader must return a valid value, or raise an error with one sentence of our own. It must never raise another
exception, hang, or return a metric from a damaged output.
"""
