"""Build identifiers of ELF files: the linker's checksum of a program or library. A running process can report it too."""

import struct
from pathlib import Path

NT_GNU_BUILD_ID = 3
PT_NOTE = 4


def build_id(path: Path) -> str | None:
    """Return the build identifier of a 64-bit little-endian ELF file as hexadecimal digits. Return None for any other
    file, or if it has no identifier."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return None
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for number in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + number * size)
        if kind == PT_NOTE and (identifier := _from_notes(data[start : start + length])):
            return identifier
    return None


def _from_notes(notes: bytes) -> str | None:
    position = 0
    while position + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, position)
        name = position + 12
        content = name + (name_size + 3 & ~3)
        if kind == NT_GNU_BUILD_ID and notes[name : name + 4] == b"GNU\0":
            return notes[content : content + size].hex()
        position = content + (size + 3 & ~3)
    return None
