"""Measuring many hosts: which hosts, and how. The workflow runs on each of them as on one machine."""
