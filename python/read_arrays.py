"""Describes calibration data: the arrays of an npz or npy file.

    python3 read_arrays.py JOB.json

Needs numpy. JOB: {"path"}. Prints one JSON object on standard output: {"arrays": [{"name", "descr", "shape",
"notFinite"}]}, the name empty for the only array of an npy, or {"problem": "..."} for a problem that the user can
fix.
"""

import json
import sys


def main(path):
    with open(path, encoding="utf-8") as file:
        source = json.load(file)["path"]
    try:
        import numpy
    except ImportError as error:
        return {"problem": f"{error}: {sys.executable} -m pip install numpy", "isLacking": True}
    try:
        loaded = numpy.load(source, allow_pickle=False)
        names = [""] if isinstance(loaded, numpy.ndarray) else loaded.files
        return {"arrays": [facts(numpy, name, loaded) for name in names]}
    except Exception:  # zipfile, zlib and numpy have no other common base
        problem = "it is no npz file (numpy.savez writes them) and no npy file, or it is damaged"
        return {"problem": problem, "isLacking": False}


def facts(numpy, name, loaded):
    try:
        values = loaded if name == "" else loaded[name]
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        return {"name": name, "descr": "|O", "shape": [], "notFinite": 0}
    bad = 0 if values.dtype.kind != "f" else int(values.size - numpy.isfinite(values).sum())
    return {"name": name, "descr": values.dtype.str, "shape": list(values.shape), "notFinite": bad}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
