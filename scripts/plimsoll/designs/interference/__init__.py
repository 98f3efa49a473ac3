"""Microservices alone and in pairs, in one container or in two (jha2018, jha2021)."""

from plimsoll.design import Design

DESIGN = Design(__name__)
