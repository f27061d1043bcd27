"""Counts the operations of ONNX models, and what each node reads and writes, for given input shapes.

    python3 measure_work.py JOB.json

Needs onnx, for its shape inference. JOB: {"jobs": [{"model", "shapes": {input: dims}}]}; static inputs need no dims.
Answer: {"networks": [...]} in the order of the jobs, each {"nodes": ...} or {"problem": "..."}.
"""

import math

from helper import first_line, needs, run

(onnx,) = needs("onnx")

# These only change the view or the type of a tensor: in an engine their output is not a separate tensor.
VIEWS = set("Cast Dropout Flatten Identity QuantizeLinear DequantizeLinear Reshape Squeeze Unsqueeze".split())
# These read as much of their first input as they write.
PICKS = {"Gather", "GatherElements", "GatherND", "Slice"}
# Their work is in other graphs, or depends on values.
UNKNOWN = set(
    "Attention ConvInteger DeformConv DFT GRU If Loop LSTM QLinearConv QLinearMatMul RNN Scan SequenceMap STFT".split()
)
MOST_VALUES = 1024


def main(job):
    networks = []
    for each in job["jobs"]:
        try:
            networks.append(network(each["model"], each["shapes"]))
        except Exception as error:  # protobuf, files and shape inference have no other common base
            networks.append({"problem": f"onnx cannot infer its shapes: {first_line(error)}"})
    return {"networks": networks}


def network(path, shapes):
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    weights = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    for tensor in graph.initializer:
        if math.prod(tensor.dims) > MOST_VALUES:  # small ones are kept: shapes are computed from them
            tensor.ClearField("raw_data")
    named = set_inputs(graph, shapes)
    for node in graph.node:
        if node.domain == "trt" and node.op_type.endswith(("QuantizeLinear", "DequantizeLinear")):
            node.domain, node.op_type = "", "Identity"
            del node.input[1:], node.attribute[:]
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    sizes = dict(weights)
    for value in [*inferred.input, *inferred.value_info, *inferred.output]:
        tensor = value.type.tensor_type
        types.setdefault(value.name, tensor.elem_type)
        dims = [dim.dim_value if dim.HasField("dim_value") else named.get(dim.dim_param) for dim in tensor.shape.dim]
        if tensor.HasField("shape") and None not in dims:
            sizes.setdefault(value.name, dims)
    sources = {}
    for node in graph.node:
        if node.op_type in VIEWS and node.input:
            sources[node.output[0]] = sources.get(node.input[0], node.input[0])
    return {
        "weights": sorted(weights),
        "outputs": [sources.get(value.name, value.name) for value in graph.output],
        "nodes": [described(node, sizes, sources) for node in graph.node],
        "tensors": {name: [types.get(name, 0), math.prod(dims)] for name, dims in sizes.items()},
    }


def set_inputs(graph, shapes):
    """Sizes of the inputs' named dimensions."""
    named = {}
    for value in graph.input:
        dims, given = value.type.tensor_type.shape.dim, shapes.get(value.name)
        if given is None or len(given) != len(dims):
            continue  # for shape tensors, trtexec's shapes are their values
        for dim, size in zip(dims, given):
            if dim.dim_param:
                named[dim.dim_param] = size
            dim.dim_value = size
    return named


def described(node, sizes, sources):
    is_view = node.op_type in VIEWS
    picked = math.prod(sizes[node.output[0]]) if node.op_type in PICKS and node.output[0] in sizes else None
    inputs = [] if is_view else [sources.get(name, name) for name in node.input if name]
    return {
        # TensorRT's parser names a node without a name after its first output.
        "name": node.name or f"node_of_{node.output[0]}",
        "operator": f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type,
        "flops": flops(node, [sizes.get(name) for name in node.input], sizes.get(node.output[0])),
        "inputs": inputs,
        "outputs": [] if is_view else list(node.output),
        "picked": picked,
    }


def flops(node, inputs, output):
    """Floating-point operations: two for a multiply-add. Nodes without products count 0; None if unknown."""
    operator = node.op_type
    if node.domain not in ("", "ai.onnx") or operator in UNKNOWN:
        return None
    formula = FORMULAS.get(operator)
    if formula is None:
        return 0
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    try:
        return formula(attributes, output, *inputs)
    except (IndexError, TypeError, ValueError):  # a shape is unknown
        return None


def einsum(attributes, output, *inputs):
    left = attributes["equation"].decode().replace(" ", "").split("->")[0]
    terms = left.split(",")
    if "." in left or len(terms) > 2:
        return None
    sizes = {}
    for term, dims in zip(terms, inputs, strict=True):
        for label, size in zip(term, dims, strict=True):
            sizes[label] = max(sizes.get(label, 1), size)
    return (0 if len(terms) == 1 else 2) * math.prod(sizes.values())


def product(attributes, output, a, b):
    return 2 * math.prod(output) * a[-1]


FORMULAS = {
    "Conv": lambda attributes, output, x, weights, *bias: 2 * math.prod(output) * math.prod(weights[1:]),
    "ConvTranspose": lambda attributes, output, x, weights, *bias: 2 * math.prod(x) * math.prod(weights[1:]),
    "Einsum": einsum,
    "Gemm": lambda attributes, output, a, b, *c: 2 * math.prod(output) * a[1 - attributes.get("transA", 0)],
    "MatMul": product,
    "MatMulInteger": lambda attributes, output, a, b, *zeros: product(attributes, output, a, b),
}


if __name__ == "__main__":
    run(main)
