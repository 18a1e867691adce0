"""Reads kernels' machine code out of a cubin (an ELF file) where there is no nvdisasm.

A kernel is a section `.text.<mangled name>`. From compute capability 7.0 on an instruction has 128
bits, little endian: bits 0-8 of its first word are the operation, bits 9-11 the form of its operands
(IGMMA is 0x9f1 with both matrices in shared memory and 0xdf1 with one in registers). The numbers
below were read off compiled pairs of kernels that differ by one instruction; `cuda_code_test.py
opcodes` compiles such pairs (probes.cu) and compares the table with them.
"""
import pathlib
import struct

OPERATION_BITS = 0x1FF
# What nvdisasm calls an operation, and its number.
OPERATIONS = {
    "IMMA": 0x037,     # mma.sync on integers
    "IGMMA": 0x1F1,    # wgmma.mma_async on integers; 0x1f0 is HGMMA, also an empty group's commit
    "UTMALDG": 0x1B4,  # cp.async.bulk.tensor from global to shared memory
    "STL": 0x187,      # store to local memory: a spilled register, or an array with variable index
    "LDL": 0x183,
    "LD": 0x180,       # from any memory
    "LDG": 0x181,      # from global memory
    "LDGSTS": 0x1AE,   # cp.async
    "ACQBULK": 0x02E,  # griddepcontrol.wait
}
NAMES = {value: name for name, value in OPERATIONS.items()}


def sections(elf):
    """(name, contents) of each section of a 64-bit little-endian ELF file."""
    table, = struct.unpack_from("<Q", elf, 40)
    entry_bytes, count, names_index = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * entry_bytes) for i in range(count)]
    names = headers[names_index][4]
    for name, _, _, _, offset, size in headers:
        begin = names + name
        yield elf[begin:elf.index(b"\0", begin)].decode(), elf[offset:offset + size]


def operations(code):
    """The operations of a kernel in their order; the table's under their names."""
    values = (struct.unpack_from("<Q", code, at)[0] & OPERATION_BITS for at in range(0, len(code), 16))
    return [NAMES.get(value, value) for value in values]


def kernels(path):
    """Mangled name -> operations of every kernel in a cubin."""
    elf = pathlib.Path(path).read_bytes()
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
    found = {name[len(".text."):]: operations(code)
             for name, code in sections(elf) if name.startswith(".text.")}
    if not found:
        raise ValueError(f"{path}: no kernel in it")
    return found
