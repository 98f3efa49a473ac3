# Runs a program on bare metal that finds the files of an image at their paths in the image: its root becomes a folder
# with them.
#
#   changed-root.sh [--tmp TMP] ROOTFS NEW FOLDER TEMPORARY PROGRAM...
#
# NEW is an empty folder in which the new root is put together. The image's files can only be read, FOLDER is at its own
# path, TEMPORARY is /var/tmp, and TMP is /tmp. Without TMP, /tmp is empty and in memory. In /root, /run and /var are the
# image's files, and new ones are in memory. The program runs in its own mount namespace, and all mounts disappear with
# it. It has the variables that a container has, and the run's.
set -e
tmp=
if [ "$1" = --tmp ]; then
    tmp=$2
    shift 2
fi
rootfs=$1 new=$2 folder=$3 temporary=$4
shift 4

# Puts the content of one folder into another. The folders on the way to FOLDER (the rest of its path) are made, so that
# the image's folders stay as they are.
put() (
    next=${3%%/*}
    case $3 in */*) rest=${3#*/} ;; *) rest= ;; esac
    for entry in "$1"/* "$1"/.[!.]*; do
        name=${entry##*/}
        if [ -e "$2/$name" ]; then
            continue
        elif [ -L "$entry" ]; then
            cp -P "$entry" "$2/"
        elif [ -d "$entry" ] && [ "$name" = "$next" ]; then
            mkdir "$2/$name"
            put "$entry" "$2/$name" "$rest"
        elif [ -d "$entry" ]; then
            mkdir "$2/$name"
            mount --bind -o ro "$entry" "$2/$name"
        elif [ -f "$entry" ]; then
            # A copy of a large file would fill the memory.
            : >"$2/$name"
            mount --bind -o ro "$entry" "$2/$name"
        fi
    done
)

mount -t tmpfs -o mode=755 plimsoll "$new"
mkdir -p "$new/root" "$new/run" "$new/tmp" "$new/var/tmp"
for name in dev proc sys; do
    mkdir "$new/$name"
    mount --rbind "/$name" "$new/$name"
done
mount --bind "$temporary" "$new/var/tmp"
[ -z "$tmp" ] || mount --bind "$tmp" "$new/tmp"
put "$rootfs" "$new" "${folder#/}"
# These were there, so their content was left out. A link would lead out of the image.
for name in root run var; do
    if [ ! -L "$rootfs/$name" ]; then
        case $folder in "/$name/"*) rest=${folder#"/$name/"} ;; *) rest= ;; esac
        put "$rootfs/$name" "$new/$name" "$rest"
    fi
done
mkdir -p "$new$folder"
mount --bind "$folder" "$new$folder"
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec chroot "$new" /usr/bin/env -i PATH=$path HOME="$folder/home" ${PLIMSOLL_RUN:+PLIMSOLL_RUN="$PLIMSOLL_RUN"} "$@"
