"""Text on the terminal, before, during and after a run of the workflow.

It says what can be made (`listing`), what a command requests (`request`), what is going on (`stage_messages`), and what
the results are (`results_summary`).
"""
