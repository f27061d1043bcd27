"""Inputs, and what onnxruntime makes of them, for each model in a folder: python3 make-references.py FOLDER

Of `vit_small.onnx` come `vit.input.bin` and `vit.reference.json`, the latter as trtexec's --exportOutput writes it; of
a variant, `vit_small_int8.onnx`, `vit_int8.reference.json` for the same inputs, where onnxruntime can run it: what an
engine of it should compute. Needs numpy and onnxruntime.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

VARIANTS = ("_fp16", "_fp8", "_int8", "_int4")
SHAPES = {3: (2, 32, 512), 4: (8, 3, 224, 224)}

for path in sorted(Path(sys.argv[1]).glob("*.onnx")):
    variant = next((end for end in VARIANTS if path.stem.endswith(end)), "")
    # As the file says it: what is merged for the speed of a CPU is another network.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if variant == "":
            raise
        print(path.name, "is not run by onnxruntime:", str(error).splitlines()[0])
        continue
    [described] = session.get_inputs()
    shape = SHAPES[len(described.shape)]
    array = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    outputs = session.run(None, {described.name: array})
    name = path.stem.split("_")[0]
    if variant == "":
        array.tofile(path.with_name(f"{name}.input.bin"))
    reference = [
        {
            "name": output.name,
            "dimensions": "x".join(map(str, value.shape)),
            "values": value.astype(np.float32).ravel().tolist(),
        }
        for output, value in zip(session.get_outputs(), outputs)
    ]
    path.with_name(f"{name}{variant}.reference.json").write_text(json.dumps(reference))
    print(name + variant, described.name, shape, [r["dimensions"] for r in reference])
