"""What a runtime costs a program of the user's, and which part of it does."""

from plimsoll.design import Design

DESIGN = Design(__name__)
