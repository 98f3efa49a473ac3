"""What an environment costs a benchmark, and how much more it varies there: li2018, stage 1."""
