"""Runs two ONNX models on the same inputs through onnxruntime's CPU provider and compares their outputs.

    python3 compare_outputs.py JOB.json

Needs numpy and onnxruntime; only numpy for {"exported": [reference, variant]}, the outputs of two engines, each
[{"name", "dimensions", "values"}]. Prints one JSON object on standard output: {"outputs": ...}, or {"problem":
"..."} for a problem that the user can fix. The result is only an emulation: the kernels of an engine round
differently.
"""

import json
import math
import platform
import sys

FLOATS = {
    "tensor(float16)": "float16",
    "tensor(float)": "float32",
    "tensor(double)": "float64",
}


class Problem(Exception):
    """A problem that the user can fix, in one line."""


class Lacking(Problem):
    """A package is not installed."""


def main(path):
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    try:
        import numpy

        if "exported" in job:
            return exported(numpy, *job["exported"])
        import onnxruntime
    except ImportError as error:
        raise Lacking(f"{error}: {sys.executable} -m pip install numpy onnxruntime")
    reference = open_model(onnxruntime, job["reference"])
    variant = open_model(onnxruntime, job["variant"])
    same_names("inputs", reference.get_inputs(), variant.get_inputs())
    same_names("outputs", reference.get_outputs(), variant.get_outputs())
    batch = batch_of(reference, variant, job["batch"])
    inputs = from_file(numpy, job, reference) if job["data"] else seeded(numpy, job, reference, batch)
    samples = min(len(values) for values in inputs.values())
    samples -= samples % (batch if is_static(reference) or is_static(variant) else 1)
    if samples == 0:
        raise Problem(f"fewer samples than the batch of {batch} that the model has")
    found = {output.name: Comparison(numpy) for output in reference.get_outputs()}
    for start in range(0, samples, batch):
        part = {name: values[start : min(start + batch, samples)] for name, values in inputs.items()}
        a, b = run(reference, part), run(variant, part)
        for name, comparison in found.items():
            comparison.add(name, a[name], b[name])
    return {
        "samples": samples,
        "outputs": {name: comparison.result(name) for name, comparison in found.items()},
        "versions": {
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "onnxruntime": onnxruntime.__version__,
        },
    }


def exported(numpy, reference, variant):
    others = {output["name"]: output for output in variant}
    results, samples = {}, 1
    for output in reference:
        name, shape = output["name"], output["dimensions"]
        a, b = (numpy.array(each["values"], numpy.float64).reshape(shape) for each in (output, others[name]))
        comparison = Comparison(numpy)
        comparison.add(name, a, b)
        results[name] = comparison.result(name)
    if reference and reference[0]["dimensions"]:
        samples = reference[0]["dimensions"][0]
    return {"samples": samples, "outputs": results, "versions": {}}


def open_model(onnxruntime, path):
    # At the default level onnxruntime moves transposes through FP8 Q/DQ pairs and then refuses its own graph.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's classes have no other common base
        raise Problem(f"{path}: onnxruntime cannot load it: {first_line(error)}")


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]


def same_names(what, reference, variant):
    a, b = {value.name for value in reference}, {value.name for value in variant}
    if a != b:
        raise Problem(f"the {what} of the two models differ: {sorted(a)} and {sorted(b)}")


def is_static(model):
    return any(isinstance(value.shape[0], int) for value in model.get_inputs() if value.shape)


def batch_of(reference, variant, wanted):
    fixed = {
        value.shape[0]
        for model in (reference, variant)
        for value in model.get_inputs()
        if value.shape and isinstance(value.shape[0], int)
    }
    if len(fixed) > 1:
        raise Problem(f"inputs have different fixed first dimensions: {sorted(fixed)}")
    return fixed.pop() if fixed else wanted


def seeded(numpy, job, model, batch):
    """Normal (mean 0, deviation 1) or uniform (0 to 1) values, the same for the same seed and numpy."""
    generator = numpy.random.default_rng(job["seed"])
    samples = math.ceil(job["samples"] / batch) * batch if is_static(model) else job["samples"]
    inputs = {}
    for value in model.get_inputs():
        if value.type not in FLOATS:
            raise Problem(f"input {value.name} is {value.type}: random values mean nothing there; give --data")
        stated = job["shapes"].get(value.name, [])
        dims = []
        for place, dim in enumerate(value.shape[1:], start=1):
            if not isinstance(dim, int):
                dim = stated[place] if place < len(stated) else None
            if dim is None:
                raise Problem(f"input {value.name} has a dynamic dimension {place}: state it, --shapes {value.name}:1x...")
            dims.append(dim)
        shape = (samples, *dims)
        if job["distribution"] == "uniform":
            inputs[value.name] = generator.random(shape)
        else:
            inputs[value.name] = generator.standard_normal(shape)
    return inputs


def from_file(numpy, job, model):
    try:
        loaded = numpy.load(job["data"], allow_pickle=False)
    except Exception as error:
        raise Problem(f"{job['data']}: {first_line(error)}")
    names = [value.name for value in model.get_inputs()]
    if isinstance(loaded, numpy.ndarray):
        if len(names) != 1:
            raise Problem(f"{job['data']}: an npy is for a model with one input; this one has {names}")
        loaded = {names[0]: loaded}
    missing = [name for name in names if name not in loaded]
    if missing:
        raise Problem(f"{job['data']}: no array for {missing}; it has {sorted(loaded)}")
    inputs = {name: loaded[name] for name in names}
    for name, values in inputs.items():
        if values.ndim == 0 or len(values) == 0:
            raise Problem(f"{job['data']}: {name} has no samples along its first dimension")
        if values.dtype.kind == "f" and not numpy.isfinite(values).all():
            raise Problem(f"{job['data']}: {name} has values that are not finite")
    counts = {len(values) for values in inputs.values()}
    if len(counts) > 1:
        raise Problem(f"{job['data']}: arrays with different numbers of samples: {sorted(counts)}")
    limit = job["samples"]
    return {name: values[:limit] for name, values in inputs.items()} if limit else inputs


def run(model, inputs):
    typed = {
        value.name: inputs[value.name].astype(FLOATS[value.type]) if value.type in FLOATS else inputs[value.name]
        for value in model.get_inputs()
    }
    names = [output.name for output in model.get_outputs()]
    try:
        return dict(zip(names, model.run(names, typed)))
    except Exception as error:
        raise Problem(f"onnxruntime cannot run the model on these inputs: {first_line(error)}")


class Comparison:
    """Compares one output over all batches, in double precision."""

    def __init__(self, numpy):
        self.numpy = numpy
        self.signal = self.noise = self.largest = 0.0
        self.cosines = []
        self.top1 = self.ranked = 0

    def add(self, name, reference, variant):
        numpy = self.numpy
        if reference.shape != variant.shape:
            raise Problem(f"output {name} has the shape {list(reference.shape)}, in the variant {list(variant.shape)}")
        a, b = reference.astype(numpy.float64), variant.astype(numpy.float64)
        for which, values in (("reference", a), ("variant", b)):
            bad = int(values.size - numpy.isfinite(values).sum())
            if bad:
                raise Problem(f"output {name} of the {which} has {bad} values that are not finite")
        difference = b - a
        self.signal += float((a * a).sum())
        self.noise += float((difference * difference).sum())
        self.largest = max(self.largest, float(numpy.abs(difference).max(initial=0.0)))
        for x, y in zip(a.reshape(len(a), -1), b.reshape(len(b), -1)):
            size = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
            self.cosines.append(float(x @ y) / size if size else float(not x.any() and not y.any()))
        if a.ndim == 2 and a.shape[1] > 1:
            self.top1 += int((a.argmax(axis=1) == b.argmax(axis=1)).sum())
            self.ranked += len(a)

    def result(self, name):
        if self.signal == 0.0 and self.noise > 0.0:
            raise Problem(f"output {name} of the reference is zero everywhere: there is no signal to compare with")
        return {
            "sqnrDb": None if self.noise == 0.0 else 10 * math.log10(self.signal / self.noise),
            "relativeError": math.sqrt(self.noise / self.signal) if self.signal else 0.0,
            "cosineMin": min(self.cosines),
            "cosineMean": math.fsum(self.cosines) / len(self.cosines),
            "maxAbsError": self.largest,
            "top1": {"same": self.top1, "of": self.ranked} if self.ranked else None,
        }


if __name__ == "__main__":
    try:
        answer = main(sys.argv[1])
    except Problem as problem:
        answer = {"problem": str(problem), "isLacking": isinstance(problem, Lacking)}
    print(json.dumps(answer))
