"""Writes the npz of random calibration data as bench does, byte for byte, without numpy.

    python3 draw_calibration.py SEED SAMPLES INPUTS.JSON-TEXT TARGET.npz

It is also a part of the scripts of `bench repro --script`.
"""

import json, math, struct, sys, zlib

MASK = 0xFFFFFFFF
state = int(sys.argv[1]) & MASK
samples, inputs, target = int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]


def draw():
    global state
    state = (state + 0x6D2B79F5) & MASK
    mixed = ((state ^ (state >> 15)) * (state | 1)) & MASK
    mixed ^= (mixed + (((mixed ^ (mixed >> 7)) * (mixed | 61)) & MASK)) & MASK
    return (mixed ^ (mixed >> 14)) / 2**32


def spread():
    return (draw() + draw() + draw() + draw() - 2) * math.sqrt(3)


def half(value):
    size = abs(value)
    if size < 2**-14:
        return struct.pack("<H", 0x8000 if value < 0 else 0)
    fraction, exponent = math.frexp(size)
    bits = ((exponent + 14) << 10) | math.floor((fraction * 2 - 1) * 1024)
    return struct.pack("<H", (0x8000 if value < 0 else 0) | bits)


def item(descr):
    if descr == "<f4":
        return struct.pack("<f", spread())
    if descr == "<f8":
        return struct.pack("<d", spread())
    if descr == "<f2":
        return half(spread())
    return bytes([0 if draw() < 0.5 else 1]) + bytes(int(descr[2:]) - 1)


def array(descr, shape):
    dims = "(%d,)" % shape[0] if len(shape) == 1 else "(%s)" % ", ".join(map(str, shape))
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, dims)
    text += " " * (-(11 + len(text)) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")
    return head + b"".join(item(descr) for _ in range(math.prod(shape)))


batch = (inputs[0]["shape"] or [1])[0] if inputs else 1
steps = -(-samples // batch)
body, directory = b"", b""
for entry in inputs:
    shape = entry["shape"]
    data = array(entry["descr"], [shape[0] * steps] + shape[1:] if shape else [])
    name = (entry["name"] + ".npy").encode()
    sizes = struct.pack("<IIIHH", zlib.crc32(data), len(data), len(data), len(name), 0)
    made = struct.pack("<HHHHH", 20, 0x800, 0, 0, 0x21) + sizes
    place = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
    directory += b"PK\x01\x02" + struct.pack("<H", 20) + made + place + name
    body += b"PK\x03\x04" + made + name + data
end = struct.pack("<HHHHIIH", 0, 0, len(inputs), len(inputs), len(directory), len(body), 0)
with open(target, "wb") as file:
    file.write(body + directory + b"PK\x05\x06" + end)
