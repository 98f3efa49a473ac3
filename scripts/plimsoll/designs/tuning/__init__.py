"""What settings of a Hadoop cluster in containers do to the time of a job (li2018, stage 2)."""

from plimsoll.design import Design

DESIGN = Design(__name__)
