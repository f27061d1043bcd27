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
        names = [""] if isinstance(loaded, numpy.ndarray) else loaded.files
        return {"arrays": [facts(name, loaded) for name in names]}
    except Exception:  # zipfile, zlib and numpy have no other common base
        raise Problem("it is no npz file (numpy.savez writes them) and no npy file, or it is damaged")


def facts(name, loaded):
    try:
        values = loaded if name == "" else loaded[name]
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        return {"name": name, "descr": "|O", "shape": [], "notFinite": 0}
    bad = 0 if values.dtype.kind != "f" else int(values.size - numpy.isfinite(values).sum())
    return {"name": name, "descr": values.dtype.str, "shape": list(values.shape), "notFinite": bad}


run(main)
