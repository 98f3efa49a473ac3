"""Programs in many instances, creation of containers, and networks between them (amaral2015)."""

from plimsoll.design import Design

DESIGN = Design(__name__)
