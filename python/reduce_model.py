"""Cuts the nodes of some engine layers out of an ONNX model, with their neighbors, as a separate model.

    python3 reduce_model.py JOB.json

Needs onnx. JOB: {"model", "output", "layers": [[names of ONNX nodes]], "wanted": place in layers, "around":
layers to take on each side, "shapes": [{input: dims}]}; dims of the cut are fixed where they are equal for all
shapes. Answer: {"nodesBefore": ...}.
"""

import os

from helper import Problem, first_line, needs, run

(onnx,) = needs("onnx")


class Graph:
    """The producer and the readers of each tensor. Nodes are numbered by their position in the file."""

    def __init__(self, graph):
        self.nodes = graph.node
        self.initializers = {tensor.name for tensor in graph.initializer}
        self.outputs = {value.name for value in graph.output}
        self.inputs = [value.name for value in graph.input if value.name not in self.initializers]
        self.reads = [sorted(set(read_by(node))) for node in self.nodes]
        self.producer = {name: place for place, node in enumerate(self.nodes) for name in node.output if name}
        self.readers = {}
        self.constant = set()
        for place, names in enumerate(self.reads):
            for name in names:
                self.readers.setdefault(name, set()).add(place)
            if all(self.is_constant(name) for name in names):
                self.constant.add(place)
        # TensorRT names a node without a name after its first output.
        self.places = {}
        for place, node in enumerate(self.nodes):
            self.places.setdefault(node.name or f"node_of_{node.output[0]}", place)

    def is_constant(self, name):
        return name in self.initializers or self.producer.get(name) in self.constant

    def before(self, place):
        made = (self.producer.get(name) for name in self.reads[place])
        return {other for other in made if other is not None and other not in self.constant}

    def after(self, place):
        return set().union(*(self.readers.get(name, ()) for name in self.nodes[place].output))

    def between(self, chosen):
        """The chosen nodes and all nodes on a path between two of them."""
        down, up = set(chosen), set(chosen)
        for place in range(min(chosen), max(chosen) + 1):  # nodes are in order: a producer comes before its readers
            if place not in down and self.before(place) & down:
                down.add(place)
        for place in range(max(chosen), min(chosen) - 1, -1):
            if place not in up and self.after(place) & up:
                up.add(place)
        return down & up

    def read_from_outside(self, chosen):
        return sorted(
            {name for place in chosen for name in self.reads[place] if not self.is_constant(name)}
            - {name for place in chosen for name in self.nodes[place].output}
        )

    def read_outside(self, chosen):
        """Outputs that other nodes need. Reading only the shape does not count: an extra output would end a fusion."""
        needed, ends = [], []
        for place in sorted(chosen):
            for name in self.nodes[place].output:
                readers = self.readers.get(name, set())
                if name in self.outputs or any(self.nodes[other].op_type not in SHAPES for other in readers - chosen):
                    needed.append(name)
                elif name and not readers & chosen:
                    ends.append(name)
        return needed or ends


SHAPES = {"Shape", "Size"}


def read_by(node):
    """Names that a node reads, including the graphs of If, Loop and Scan."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            own |= {name for inner in graph.node for name in inner.output}
            names += [name for inner in graph.node for name in read_by(inner) if name not in own]
    return names


def main(job):
    try:
        return reduce(job)
    except Problem:
        raise
    except Exception as error:  # onnx and protobuf have no other common base
        raise Problem(f"{job['model']}: onnx cannot reduce it: {first_line(error)}")


def reduce(job):
    model = onnx.load(job["model"], load_external_data=False)
    graph = Graph(model.graph)
    layers = [{graph.places[name] for name in names if name in graph.places} for names in job["layers"]]
    wanted = layers[job["wanted"]] - graph.constant
    if not wanted:
        names = job["layers"][job["wanted"]]
        raise Problem(f"{job['model']} has none of the ONNX nodes of this layer ({', '.join(names[:3]) or 'it names none'})")
    core = graph.between(wanted)
    chosen = graph.between(grown(graph, layers, core, job["around"]))
    types, sizes = inferred(model, job["shapes"])
    chosen = completed(graph, types, chosen)
    inputs, outputs = graph.read_from_outside(chosen), graph.read_outside(chosen)
    for name in [*inputs, *outputs]:
        if name not in types or not types[name].type.tensor_type.HasField("shape"):
            raise Problem(f"onnx knows no shape of {name}, where the model would be cut: try another --around")
    model.ir_version = max(model.ir_version, 4)  # older versions require weights to be inputs
    del model.graph.value_info[:]
    del model.graph.output[:]
    own = {value.name for value in model.graph.input}
    model.graph.value_info.extend(types[name] for name in sorted({*inputs, *outputs} - own))
    cut = onnx.utils.Extractor(model).extract_model(inputs, outputs)
    cut.graph.name = f"{model.graph.name} reduced"
    del cut.graph.value_info[:]
    for value in [*cut.graph.input, *cut.graph.output]:
        fix_dims(value, [dims.get(value.name) for dims in sizes])
    onnx.external_data_helper.load_external_data_for_model(cut, os.path.dirname(os.path.abspath(job["model"])))
    onnx.checker.check_model(cut, full_check=True)
    onnx.save(cut, job["output"])
    return {
        "nodesBefore": len(model.graph.node),
        "nodesAfter": len(cut.graph.node),
        "nodesOfLayer": len(core),
        "nodes": [node.name for node in cut.graph.node],
        "inputs": [
            {
                "name": value.name,
                "type": onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower(),
                "isDynamic": any(not dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim),
                "shapes": [shape_of(value.name, dims) for dims in sizes],
            }
            for value in cut.graph.input
        ],
        "outputs": [value.name for value in cut.graph.output],
        "missing": sorted({name for names in job["layers"] for name in names if name not in graph.places}),
    }


def grown(graph, layers, chosen, around):
    """Adds the nodes of `around` layers on each side: whole layers, so that they can be fused as before."""
    for _ in range(around):
        edge = set().union(*(graph.before(place) | graph.after(place) for place in chosen)) - chosen
        chosen = chosen | edge | set().union(*(layer for layer in layers if layer & edge))
    return chosen - graph.constant


def completed(graph, types, chosen):
    """Adds nodes that must not be cut off: computed sizes, which would have random values as inputs, and the other half
    of a quantization, because engines do not read or write its type."""
    chosen = set(chosen)
    while True:
        more = {
            graph.producer[name]
            for name in graph.read_from_outside(chosen)
            if name in graph.producer and (is_size(types.get(name)) or is_quantized(types.get(name)))
        }
        for name in graph.read_outside(chosen):
            if is_quantized(types.get(name)):
                more |= graph.readers.get(name, set()) - chosen
        if not more:
            return chosen
        chosen |= more


def is_size(value):
    return value is not None and value.type.tensor_type.elem_type in INTEGERS and len(value.type.tensor_type.shape.dim) < 2


def is_quantized(value):
    return value is not None and value.type.tensor_type.elem_type not in PLAIN


# Numbers of TensorProto.DataType: int32 and int64; PLAIN adds float, bool, float16 and bfloat16.
INTEGERS = {6, 7}
PLAIN = INTEGERS | {1, 9, 10, 16}


def inferred(model, all_shapes):
    """Types by name that keep the names of dimensions, and sizes by name for each set of shapes."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for tensor in bare.graph.initializer:
        if len(tensor.raw_data) > 1 << 16:
            tensor.ClearField("raw_data")  # inference needs no weights
    graph = bare.graph
    types = {value.name: value for value in [*graph.value_info, *graph.input, *graph.output]}
    types |= types_of(onnx.shape_inference.infer_shapes(bare, data_prop=True))
    del graph.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    known = {value.name: value for value in graph.input}
    sizes = []
    for shapes in all_shapes:
        for name, dims in shapes.items():
            if name not in known:
                raise Problem(f"{name}: the run has a shape of this input, which the model does not have")
            shape = known[name].type.tensor_type.shape
            if len(shape.dim) not in (0, len(dims)):
                raise Problem(f"{name}: the run has {len(dims)} dimensions, the model {len(shape.dim)}")
            shape.ClearField("dim")
            for size in dims:
                shape.dim.add(dim_value=size)
        found = types_of(onnx.shape_inference.infer_shapes(bare, data_prop=True))
        sizes.append({name: value.type.tensor_type.shape.dim for name, value in found.items()})
    return types, sizes


def types_of(model):
    values = [*model.graph.value_info, *model.graph.input, *model.graph.output]
    return {value.name: value for value in values if value.type.tensor_type.elem_type}


def fix_dims(value, all_dims):
    """Fixes a dimension that is equal for all shapes, and names any other one."""
    shape = value.type.tensor_type.shape
    for place, dim in enumerate(shape.dim):
        sizes = {dims[place].dim_value for dims in all_dims if dims and dims[place].HasField("dim_value")}
        if len(sizes) == 1:
            dim.dim_value = sizes.pop()
        elif not dim.HasField("dim_value") and not dim.dim_param:
            dim.dim_param = f"{value.name}_{place}"


def shape_of(name, dims):
    sizes = [dim.dim_value for dim in dims.get(name, []) if dim.HasField("dim_value")]
    if name not in dims or len(sizes) < len(dims[name]):
        raise Problem(f"onnx knows no sizes of {name}, where the model would be cut: try another --around")
    return sizes


run(main)
