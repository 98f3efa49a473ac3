"""What a runtime costs a benchmark, and how much more the benchmark varies in it (li2018, stage 1)."""

from plimsoll.design import Design

DESIGN = Design(__name__)
