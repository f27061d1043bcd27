"""Describes calibration data: the arrays of an npz or npy file.

    python3 read_arrays.py JOB.json

Needs numpy. JOB: {"path"}. Answer: {"arrays": [{"name", "descr", "shape", "notFinite"}]}, the name empty for the only
array of an npy.
"""

from helper import Problem, needs, run

(numpy,) = needs("numpy")


def main(job):
    try:
        loaded = numpy.load(job["path"], allow_pickle=False)
        arrays = {"": loaded} if isinstance(loaded, numpy.ndarray) else loaded
        return {"arrays": [facts(name, values) for name, values in arrays.items()]}
    except Exception:  # zipfile, zlib and numpy have no other common base
        raise Problem("it is no npz or npy file of plain numbers (numpy.savez writes them), or it is damaged")


def facts(name, values):
    bad = 0 if values.dtype.kind != "f" else int(values.size - numpy.isfinite(values).sum())
    return {"name": name, "descr": values.dtype.str, "shape": list(values.shape), "notFinite": bad}


run(main)
