"""Inputs, and what onnxruntime makes of them, for each model in a folder: python3 make-references.py FOLDER

Of `vit_small.onnx` come `vit.input.bin` and `vit.reference.json`, the latter as trtexec's --exportOutput writes it.
Variants (`_fp8` and so on) are no references. Needs numpy and onnxruntime.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

VARIANTS = ("_fp16", "_fp8", "_int8", "_int4")
SHAPES = {3: (2, 32, 512), 4: (8, 3, 224, 224)}

for path in sorted(Path(sys.argv[1]).glob("*.onnx")):
    if path.stem.endswith(VARIANTS):
        continue
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    [described] = session.get_inputs()
    shape = SHAPES[len(described.shape)]
    array = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    outputs = session.run(None, {described.name: array})
    name = path.stem.split("_")[0]
    array.tofile(path.with_name(f"{name}.input.bin"))
    reference = [
        {"name": output.name, "dimensions": "x".join(map(str, value.shape)), "values": value.ravel().tolist()}
        for output, value in zip(session.get_outputs(), outputs)
    ]
    path.with_name(f"{name}.reference.json").write_text(json.dumps(reference))
    print(name, described.name, shape, [r["dimensions"] for r in reference])
