"""The terminal while a workflow runs: one line that says what is done, with problems above it.

Snakemake's own lines and those of its jobs go to a log (`screen`). The line counts runs by their progress files
(`runs`), and other jobs by Snakemake's events (`jobs`). `display` puts these together. The logger
plugin of Snakemake passes the events on (`events`, snakemake_logger_plugin_plimsoll).
"""
