"""Snakemake's logger plugin `plimsoll` (profiles/default). Snakemake finds it by the name of this package."""

from plimsoll.terminal.live.handler import LogHandler

__all__ = ["LogHandler"]
