"""Runs two ONNX models on the same inputs through onnxruntime's CPU provider and compares their outputs.

    python3 compare_outputs.py JOB.json

Needs numpy and onnxruntime; only numpy for {"exported": [reference, variant]}, two files that engines wrote with
trtexec --exportOutput. Answer: {"samples", "outputs": {name: figures}, "versions"}. The result of two models is only an
emulation: the kernels of an engine round differently.
"""

import json
import math
import platform

from helper import Problem, first_line, needs, run

(numpy,) = needs("numpy")
FLOATS = {
    "tensor(float16)": "float16",
    "tensor(float)": "float32",
    "tensor(double)": "float64",
}


def main(job):
    if "exported" in job:
        return exported(*job["exported"])
    _, onnxruntime = needs("numpy", "onnxruntime")
    reference = open_model(onnxruntime, job["reference"])
    variant = open_model(onnxruntime, job["variant"])
    same_names("inputs", reference.get_inputs(), variant.get_inputs())
    same_names("outputs", reference.get_outputs(), variant.get_outputs())
    fixed = fixed_batches(reference, variant)
    batch = next(iter(fixed), job["batch"])
    inputs = from_file(job, reference) if job["data"] else seeded(job, reference, batch)
    samples = min(len(values) for values in inputs.values())
    samples -= samples % (batch if fixed else 1)
    if samples == 0:
        raise Problem(f"fewer samples than the batch of {batch} that the model has")
    found = {output.name: Comparison() for output in reference.get_outputs()}
    for start in range(0, samples, batch):
        part = {name: values[start : min(start + batch, samples)] for name, values in inputs.items()}
        a, b = outputs_of(reference, part), outputs_of(variant, part)
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


def exported(*paths):
    reference, variant = (outputs_in(path) for path in paths)
    shapes = [{name: list(values.shape) for name, values in outputs.items()} for outputs in (reference, variant)]
    if shapes[0] != shapes[1]:
        raise Problem(f"the two have different outputs: {shapes[0]} and {shapes[1]}")
    if not reference:
        raise Problem(f"{paths[0]}: it has no outputs to compare")
    results = {name: Comparison().add(name, a, variant[name]).result(name) for name, a in reference.items()}
    return {"samples": min(len(values) for values in reference.values()), "outputs": results, "versions": {}}


def outputs_in(path):
    try:
        with open(path, encoding="utf-8") as file:
            outputs = json.load(file)
        shapes = [[int(size) for size in output["dimensions"].split("x")] for output in outputs]
        return {
            output["name"]: numpy.array(output["values"], numpy.float64).reshape(shape)
            for output, shape in zip(outputs, shapes)
        }
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        raise Problem(f"{path}: not a file of trtexec --exportOutput, or it has values that are not finite")


def open_model(onnxruntime, path):
    # At the default level onnxruntime moves transposes through FP8 Q/DQ pairs and then refuses its own graph.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's classes have no other common base
        raise Problem(f"{path}: onnxruntime cannot load it: {first_line(error)}")


def same_names(what, reference, variant):
    a, b = {value.name for value in reference}, {value.name for value in variant}
    if a != b:
        raise Problem(f"the {what} of the two models differ: {sorted(a)} and {sorted(b)}")


def fixed_batches(*models):
    inputs = [value for model in models for value in model.get_inputs() if value.shape]
    return {value.shape[0] for value in inputs if isinstance(value.shape[0], int)}


def seeded(job, model, batch):
    """Normal (mean 0, deviation 1) or uniform (0 to 1) values, the same for the same seed and numpy."""
    generator = numpy.random.default_rng(job["seed"])
    draw = generator.random if job["distribution"] == "uniform" else generator.standard_normal
    samples = math.ceil(job["samples"] / batch) * batch if fixed_batches(model) else job["samples"]
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
        inputs[value.name] = draw((samples, *dims))
    return inputs


def from_file(job, model):
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
    counts = {values.shape[:1] for values in inputs.values()}
    if len(counts) > 1 or counts & {(), (0,)}:
        raise Problem(f"{job['data']}: the arrays have no samples, or different numbers of them: {sorted(counts)}")
    limit = job["samples"]
    return {name: values[:limit] for name, values in inputs.items()} if limit else inputs


def outputs_of(model, inputs):
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

    def __init__(self):
        self.signal = self.noise = self.largest = 0.0
        self.cosines = []
        self.top1 = self.ranked = 0

    def add(self, name, reference, variant):
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
        return self

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


run(main)
