"""Stages of the workflow that concern archives."""

import argparse
from collections.abc import Callable
from pathlib import Path


def add(stage: Callable) -> None:
    """Add the stages to the command line of stages."""
    stage(_keep_reference).add_argument("settings", nargs="*", help="the configuration, as after --config")


def _keep_reference(options: argparse.Namespace) -> None:
    """make what was measured of the selected studies the reference measurements of the project"""
    from plimsoll import designs, paths
    from plimsoll.config import configuration, studies
    from plimsoll.features.archive import references

    for name in sorted(studies.select(configuration.read(options.settings)["studies"])):
        folder = references.keep(studies.load(name, designs.known()), Path("results"), paths.REFERENCES)
        print(f"{folder} has what was measured here.")
