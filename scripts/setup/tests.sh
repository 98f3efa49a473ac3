#!/usr/bin/env bash
# What only the tests need: a client for ssh, and a server that is no service of the machine (tests/containers/another.py).
. "$(dirname "$0")/common.sh"

if is_root; then need_packages "A test" dropbear-bin openssh-client; fi
