"""Writes the npz of random calibration data: the same bytes for the same seed and numpy.

    python3 draw_calibration.py SEED SAMPLES INPUTS.JSON-TEXT TARGET.npz

Needs numpy. INPUTS: [{"name", "descr", "shape"}], shapes of one calibration step; SAMPLES are rounded up to whole steps.
Floats are distributed like normalized images (mean 0, deviation 1); integers are 0 or 1, which are always valid indices.
"""

import json, sys, zipfile

import numpy

seed, samples = int(sys.argv[1]), int(sys.argv[2])
inputs, target = json.loads(sys.argv[3]), sys.argv[4]
generator = numpy.random.default_rng(seed)
batch = (inputs[0]["shape"] or [1])[0] if inputs else 1
steps = -(-samples // batch)
# An input may have any name, also that of an argument of numpy.savez.
with zipfile.ZipFile(target, "w") as file:
    for entry in inputs:
        shape = entry["shape"]
        size = [shape[0] * steps] + shape[1:] if shape else []
        is_float = numpy.dtype(entry["descr"]).kind == "f"
        values = generator.standard_normal(size) if is_float else generator.integers(2, size=size)
        with file.open(zipfile.ZipInfo(entry["name"] + ".npy"), "w", force_zip64=True) as member:
            numpy.lib.format.write_array(member, numpy.asarray(values, entry["descr"]))
