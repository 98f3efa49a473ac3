"""Design of li2018, stage 1: what a runtime costs a benchmark, and how much more the benchmark varies in it."""
