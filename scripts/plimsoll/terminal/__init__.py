"""Text on the terminal, before, during and after a run of the workflow.

It says what can be made (`listing`), what a command requests (`requested`), what is going on (`patience`), and what the
results are (`closing`).
"""
