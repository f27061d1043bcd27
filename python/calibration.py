"""Brings the calibration data of a conversion: checks the user's arrays against the model, or draws random ones.

    python3 calibration.py JOB.json

Needs numpy. JOB: {"target", "inputs": [{"name", "elementType", "shape"}]}, and {"path", "steps": {name: shape of one
step}} of an npz or npy file that is copied, or {"seed", "samples"} for shapes of one step. Answer: {}. Random floats are
distributed like normalized images (mean 0, deviation 1); integers are 0 or 1, which are always valid indices.
"""

import difflib, shutil, zipfile

from helper import Problem, needs, run

(numpy,) = needs("numpy")


def main(job):
    if "path" in job:
        arrays = loaded(job["path"], job["inputs"])
        for name in arrays:
            known(name, [each["name"] for each in job["inputs"]])
        counts = {each["name"]: checked(each, arrays, job["steps"]) for each in job["inputs"]}
        if len(set(counts.values())) > 1:
            raise Problem(f"the inputs have different numbers of samples: {counts}")
        shutil.copyfile(job["path"], job["target"])
    else:
        draw(job)
    return {}


def loaded(path, inputs):
    try:
        arrays = numpy.load(path, allow_pickle=False)
    except Exception:  # zipfile, zlib and numpy have no other common base
        raise Problem("it is no npz file (numpy.savez writes them) and no npy file, or it is damaged")
    if not isinstance(arrays, numpy.ndarray):
        return arrays
    if len(inputs) != 1:
        raise Problem(f"an npy file holds one array, and the model has {len(inputs)} inputs: save an npz with all")
    return {inputs[0]["name"]: arrays}


def known(name, names):
    if name not in names:
        near = "".join(f'; did you mean "{each}"?' for each in difflib.get_close_matches(name, names, 1))
        raise Problem(f'the model has no input "{name}" (it has {", ".join(names)}){near}')


def checked(wanted, arrays, steps):
    """The number of samples of an input, whose first dimension counts them, regardless of the model."""
    name, element, shape = wanted["name"], wanted["elementType"], wanted["shape"]
    step = steps.get(name)
    if name not in arrays:
        raise Problem(f'there is no array for the input "{name}"')
    try:
        values = arrays[name]
    except ValueError:
        raise Problem(f"{name}: it holds Python objects: save plain arrays of numbers")
    except Exception:
        raise Problem(f"{name}: its array is damaged")
    if values.dtype.name != element:
        advice = f'save it with .astype("{element}")'
        raise Problem(f"{name}: it is {values.dtype.name}, and the model takes {element}: {advice}")
    bad = 0 if values.dtype.kind != "f" else int(values.size - numpy.isfinite(values).sum())
    if bad:
        raise Problem(f"{name}: {bad} values are not finite (NaN or infinity)")
    for what, dims in (("the model takes", shape), ("one step is", step)):
        if dims is not None and not fits(dims, values.shape):
            shown = ", ".join("?" if dim is None else str(dim) for dim in dims)
            raise Problem(f"{name}: it is {list(values.shape)}, and {what} [{shown}]")
    samples, batch = (values.shape or (0,))[0], (step or [1])[0]
    if samples < batch:
        raise Problem(f"{name}: {samples} samples are fewer than one step of {batch}")
    return samples


def fits(dims, shape):
    pairs = list(zip(dims, shape))[1:]
    return len(dims) == len(shape) and all(size == dim for dim, size in pairs if isinstance(dim, int))


def draw(job):
    """As numpy.savez does, for inputs of any name; samples are rounded up to whole steps."""
    generator = numpy.random.default_rng(job["seed"])
    batch = (job["inputs"][0]["shape"] or [1])[0] if job["inputs"] else 1
    steps = -(-job["samples"] // batch)
    with zipfile.ZipFile(job["target"], "w") as file:
        for each in job["inputs"]:
            first, *rest = each["shape"] or [None]
            shape = [] if first is None else [first * steps, *rest]
            dtype = numpy.dtype(each["elementType"])
            values = generator.standard_normal(shape) if dtype.kind == "f" else generator.integers(0, 2, shape)
            with file.open(zipfile.ZipInfo(each["name"] + ".npy"), "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, numpy.asarray(values, dtype))


run(main)
