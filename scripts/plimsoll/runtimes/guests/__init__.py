"""Parts of virtual machines: a kernel, a first file system, QEMU's command line, and what starts programs."""
