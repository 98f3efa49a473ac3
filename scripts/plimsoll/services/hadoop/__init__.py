"""A Hadoop cluster that exists for one run: its configuration, its daemons, its files, its jobs, and the jobs' data."""
