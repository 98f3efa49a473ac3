"""A Hadoop cluster for the time of a run: its configuration, its daemons, its files, its jobs, and the jobs' data."""
