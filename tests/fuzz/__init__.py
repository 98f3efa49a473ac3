"""Every reader of the project is given nonsense: mutations of real files, and what Hypothesis makes up.

The property: a valid value, or one sentence of our own. Never another exception, never a hang, and never a metric from an
output that is damaged.
"""
