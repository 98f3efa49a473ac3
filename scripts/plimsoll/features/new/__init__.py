"""`plimsoll new`: the first version of a study, a runtime, a workload or a chart."""
