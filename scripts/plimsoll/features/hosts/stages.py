"""Stages of the workflow that concern many hosts (rules/cluster.smk)."""

import argparse
from collections.abc import Callable
from pathlib import Path


def add(stage: Callable) -> None:
    """Add the stages to the command line of stages."""
    compared = stage(_compare_hosts, paths=("page", "table"))
    told = "folders of hosts or of results, and archives; without any those beside the page"
    compared.add_argument("folders", nargs="*", type=Path, help=told)
    reached = stage(_measure_by_ssh, "name", "ssh", "there", paths=("here", "images"))
    reached.add_argument("--hours", help="of measuring each study")
    reached.add_argument("--target", action="append", default=[], help="what is made there")
    reached.add_argument("settings", nargs="*", help="the configuration, as after --config")
    stage(_mark_done, "host", paths=("folder",))


def _compare_hosts(options: argparse.Namespace) -> None:
    """set the verdicts of several hosts beside each other"""
    from plimsoll.features.hosts import hosts

    hosts.compare_hosts(options.folders, options.page, options.table)


def _measure_by_ssh(options: argparse.Namespace) -> None:
    """measure on a host that ssh reaches, and bring back what was measured"""
    from plimsoll.features.hosts import ssh_host

    reached = ssh_host.SshHost(options.name, options.ssh, f"{options.there}/{options.name}")
    asked = ["--images", "images.tar.gz", *(["--hours", options.hours] if options.hours else [])]
    asked += [word for target in options.target for word in ("--target", target)]
    ssh_host.measure(reached, options.here, options.images, [*asked, *options.settings])


def _mark_done(options: argparse.Namespace) -> None:
    """note that a host is done"""
    from plimsoll.features.hosts import marker

    marker.write(options.folder, options.host)
