"""Design of li2018, stage 2: what settings of a Hadoop cluster in containers do to the time of a job."""
