"""A transformer decoder block as ONNX: python3 make-decoder.py decoder.onnx [reference FOLDER]

One input `input: [batch, sequence, 512]`, 8 heads, causal attention, GELU by Erf, pre-normalization. Weights repeat
after 8,191 values, so that the file compresses well. Needs numpy and onnx.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, INNER, BLOCKS, CLASSES = 512, 8, 2048, 2, 1000


class Graph:
    def __init__(self):
        self.nodes, self.weights = [], []
        self.values = np.random.default_rng(1).standard_normal(8191).astype(np.float32)

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def matrix(self, name, rows, columns):
        array = np.resize(self.values, rows * columns).reshape(rows, columns) / np.float32(np.sqrt(rows))
        return self.weight(name, array)

    def op(self, kind, inputs, name, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def number(self, name, value, kind=np.float32):
        return self.weight(name, np.array(value, kind))

    def dense(self, x, name, rows, columns):
        product = self.op("MatMul", [x, self.matrix(f"{name}.weight", rows, columns)], f"{name}/MatMul")
        return self.op("Add", [product, self.weight(f"{name}.bias", np.zeros(columns, np.float32))], f"{name}/Add")

    def norm(self, x, name):
        scale = self.weight(f"{name}.scale", np.ones(HIDDEN, np.float32))
        bias = self.weight(f"{name}.bias", np.zeros(HIDDEN, np.float32))
        return self.op("LayerNormalization", [x, scale, bias], f"{name}/Norm", axis=-1)

    def heads(self, x, name):
        split = self.op("Reshape", [x, "split"], f"{name}/Split")
        return self.op("Transpose", [split], f"{name}/Heads", perm=[0, 2, 1, 3])

    def attention(self, x, mask, name):
        q, k, v = (self.heads(self.dense(x, f"{name}/{part}", HIDDEN, HIDDEN), f"{name}/{part}") for part in "qkv")
        turned = self.op("Transpose", [k], f"{name}/Turned", perm=[0, 1, 3, 2])
        scores = self.op("MatMul", [q, turned], f"{name}/Scores")
        scaled = self.op("Mul", [scores, "scale"], f"{name}/Scaled")
        masked = self.op("Where", [mask, scaled, "never"], f"{name}/Masked")
        weights = self.op("Softmax", [masked], f"{name}/Softmax", axis=-1)
        mixed = self.op("MatMul", [weights, v], f"{name}/Mixed")
        joined = self.op("Transpose", [mixed], f"{name}/Joined", perm=[0, 2, 1, 3])
        return self.dense(self.op("Reshape", [joined, "join"], f"{name}/Join"), f"{name}/out", HIDDEN, HIDDEN)

    def gelu(self, x, name):
        erf = self.op("Erf", [self.op("Mul", [x, "root"], f"{name}/Root")], f"{name}/Erf")
        half = self.op("Mul", [x, "half"], f"{name}/Half")
        return self.op("Mul", [half, self.op("Add", [erf, "one"], f"{name}/One")], f"{name}/Gelu")


def causal_mask(graph):
    """True where a position may look: at itself and before."""
    sequence = graph.op("Gather", [graph.op("Shape", ["input"], "mask/Shape"), "first"], "mask/Sequence", axis=0)
    places = graph.op("Range", ["zero", sequence, "step"], "mask/Range")
    columns = graph.op("Unsqueeze", [places, "rows"], "mask/Columns")
    rows = graph.op("Unsqueeze", [places, "columns"], "mask/Rows")
    return graph.op("LessOrEqual", [columns, rows], "mask/Mask")


def decoder():
    graph = Graph()
    graph.number("split", [0, 0, HEADS, HIDDEN // HEADS], np.int64)
    graph.number("join", [0, 0, HIDDEN], np.int64)
    graph.number("scale", (HIDDEN // HEADS) ** -0.5)
    graph.number("never", -1e4)
    graph.number("root", 2**-0.5)
    graph.number("half", 0.5)
    graph.number("one", 1.0)
    graph.number("first", 1, np.int64)
    graph.number("zero", 0, np.int64)
    graph.number("step", 1, np.int64)
    graph.number("rows", [0], np.int64)
    graph.number("columns", [1], np.int64)
    mask = causal_mask(graph)
    x = "input"
    for block in range(BLOCKS):
        name = f"block{block}"
        attended = graph.attention(graph.norm(x, f"{name}/norm1"), mask, f"{name}/attention")
        x = graph.op("Add", [x, attended], f"{name}/Residual1")
        inner = graph.gelu(graph.dense(graph.norm(x, f"{name}/norm2"), f"{name}/up", HIDDEN, INNER), name)
        x = graph.op("Add", [x, graph.dense(inner, f"{name}/down", INNER, HIDDEN)], f"{name}/Residual2")
    last = graph.norm(x, "norm")
    graph.nodes.append(
        helper.make_node("MatMul", [last, graph.matrix("head.weight", HIDDEN, CLASSES)], ["output"], name="head/MatMul")
    )
    place = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "sequence", width])
    body = helper.make_graph(graph.nodes, "decoder", [place("input", HIDDEN)], [place("output", CLASSES)], graph.weights)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


onnx.save(decoder(), sys.argv[1])
