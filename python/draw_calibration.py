"""Writes the npz of random calibration data: the same bytes for the same seed on every machine.

    python3 draw_calibration.py SEED SAMPLES INPUTS.JSON-TEXT TARGET.npz

Needs numpy. INPUTS: [{"name", "descr", "shape"}], shapes of one calibration step; SAMPLES are rounded up to whole steps.
Floats are distributed like normalized images (mean 0, deviation 1); integers are 0 or 1, which are always valid indices.
"""

import json, math, sys, zipfile

import numpy

STEP = 0x6D2B79F5
CHUNK = 1 << 20
seed = int(sys.argv[1])
samples, inputs, target = int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]
drawn = 0


def draws(count):
    """Uniform values from 0 to 1, by mulberry32."""
    global drawn
    places = numpy.arange(drawn + 1, drawn + count + 1, dtype=numpy.uint64)
    drawn += count
    state = (places * numpy.uint64(STEP) + numpy.uint64(seed)).astype(numpy.uint32)
    mixed = (state ^ (state >> 15)) * (state | 1)
    mixed ^= mixed + (mixed ^ (mixed >> 7)) * (mixed | 61)
    return (mixed ^ (mixed >> 14)) / 2**32


def spread(count):
    """The sum of four uniform values: this avoids functions whose last bit differs between machines."""
    a, b, c, d = draws(4 * count).reshape(count, 4).T
    return (a + b + c + d - 2) * math.sqrt(3)


def half(values):
    """The nearest float16 towards zero; 0 below 2^-14."""
    fraction, exponent = numpy.frexp(numpy.abs(values))
    bits = ((exponent + 14) << 10) | numpy.floor((fraction * 2 - 1) * 1024).astype(numpy.int32)
    bits = numpy.where(numpy.abs(values) < 2**-14, 0, bits)
    return (bits | numpy.where(values < 0, 0x8000, 0)).astype("<u2").view("<f2")


def items(descr, count):
    if descr in ("<f4", "<f8"):
        return spread(count).astype(descr)
    return half(spread(count)) if descr == "<f2" else (draws(count) >= 0.5).astype(descr)


def array(descr, shape):
    count = math.prod(shape)
    parts = [items(descr, min(CHUNK, count - done)) for done in range(0, count, CHUNK)]
    return numpy.concatenate(parts or [numpy.zeros(0)]).astype(descr).reshape(shape)


batch = (inputs[0]["shape"] or [1])[0] if inputs else 1
steps = -(-samples // batch)
with zipfile.ZipFile(target, "w") as file:
    for entry in inputs:
        shape = entry["shape"]
        values = array(entry["descr"], [shape[0] * steps] + shape[1:] if shape else [])
        with file.open(zipfile.ZipInfo(entry["name"] + ".npy"), "w", force_zip64=True) as member:
            numpy.lib.format.write_array(member, values)
