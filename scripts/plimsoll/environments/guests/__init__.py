"""What virtual machines are made of: a kernel, a file system to begin with, QEMU's words, and what starts programs."""
