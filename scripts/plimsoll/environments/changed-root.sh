# Runs a program on bare metal that finds the files of an image where they are in the image: its root becomes a folder with these.
#
#   changed-root.sh ROOTFS NEW FOLDER TEMPORARY PROGRAM...
#
# NEW is an empty folder, in which the new root is put together; FOLDER is there at its own path, and TEMPORARY as /var/tmp. It
# runs in a mount namespace of its own, with which all of it goes.
set -e
rootfs=$1 new=$2 folder=$3 temporary=$4
shift 4
mount -t tmpfs -o mode=755 plimsoll "$new"
for entry in "$rootfs"/*; do
    name=${entry##*/}
    case $name in dev | proc | sys | tmp | var | run) continue ;; esac
    if [ -L "$entry" ]; then
        cp -P "$entry" "$new/"
    elif [ -d "$entry" ]; then
        mkdir "$new/$name"
        mount --bind "$entry" "$new/$name"
    fi
done
mkdir -p "$new/run" "$new/tmp" "$new/var/tmp" "$new$folder"
mount --bind "$temporary" "$new/var/tmp"
mount --bind "$folder" "$new$folder"
for name in dev proc sys; do
    mkdir "$new/$name"
    mount --rbind "/$name" "$new/$name"
done
exec chroot "$new" "$@"
