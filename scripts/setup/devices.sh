#!/usr/bin/env bash
# Opens the devices that containers of users other than root need to all users, as udev does. Without udev only root may
# open them.
. "$(dirname "$0")/common.sh"

is_root || exit 0
for device in /dev/net/tun /dev/fuse; do
    if [ -c "$device" ]; then chmod 0666 "$device"; fi
done
