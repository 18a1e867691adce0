"""How the inputs and attributes of random nodes with graphs, and of attention, are drawn, of a Draw."""
import numpy as np
import onnx
from onnx import TensorProto, helper


def graph(name, nodes, inputs, outputs):
    """`inputs` by name: element type and shape, None for any."""
    return helper.make_graph(nodes, name, [helper.make_tensor_value_info(x, *form) for x, form in inputs.items()],
                             [onnx.ValueInfoProto(name=x) for x in outputs])


def branch(draw):
    """Both branches read the condition from outside; one of them a level deeper."""
    real = helper.make_node("Cast", ["x0"], ["real"], to=TensorProto.FLOAT)
    inner = graph("inner", [helper.make_node("Neg", ["real"], ["less"])], {}, ["less"])
    deeper = helper.make_node("If", ["x0"], ["deep"], then_branch=inner, else_branch=inner)
    return [np.asarray(draw.bools(1)[0])], {"then_branch": graph("then", [real, deeper], {}, ["deep"]),
                                            "else_branch": graph("else", [real], {}, ["real"])}


def loop(draw):
    """Carries a sum, keeps each one, reads a tensor from outside, and ends after some iterations or by its condition."""
    nodes = [helper.make_node("Add", ["sum", "x2"], ["next"]),
             helper.make_node("ReduceSum", ["next"], ["all"], keepdims=0),
             helper.make_node("Constant", [], ["most"], value_float=30.0),
             helper.make_node("Less", ["all", "most"], ["goes_on"]),
             helper.make_node("Mul", ["next", "next"], ["kept"])]
    body = graph("body", nodes, {"i": (TensorProto.INT64, []), "on": (TensorProto.BOOL, []), "sum": (TensorProto.FLOAT, None)},
                 ["goes_on", "next", "kept"])
    return [np.asarray(draw.whole(1, 6)), np.asarray(True), draw.positive(2, 3)], {"body": body}


def scan(draw):
    nodes = [helper.make_node("Add", ["sum", "x"], ["next"]), helper.make_node("Sub", ["x", "sum"], ["kept"])]
    body = graph("body", nodes, {"sum": (TensorProto.FLOAT, [3]), "x": (TensorProto.FLOAT, [3])}, ["next", "kept"])
    axis = draw.whole(0, 1)
    shape = (4, 3) if axis == 0 else (3, 4)
    return [draw.real(3), draw.real(*shape)], {
        "body": body, "num_scan_inputs": 1, "scan_input_axes": [axis], "scan_output_axes": [draw.whole(0, 1)],
        "scan_input_directions": [draw.whole(0, 1)], "scan_output_directions": [draw.whole(0, 1)]}


def dynamic_lstm(draw):
    directions, steps, size, hidden = draw.whole(1, 2), draw.whole(1, 4), 4, 8
    kind = draw.pick(np.int8, np.uint8)
    weights = [draw.levels(kind, directions, rows, 4 * hidden) for rows in (size, hidden)]
    scale = (directions, 4 * hidden) if draw.whole(0, 1) else (directions,)
    zero = np.zeros(scale, kind)
    arrays = [draw.real(steps, 1, size), *weights, draw.real(directions, 8 * hidden), None, draw.real(directions, 1, hidden),
              draw.real(directions, 1, hidden), None, draw.scale(*scale, times=0.1), zero, draw.scale(*scale, times=0.1), zero]
    return arrays, {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else draw.pick("forward", "reverse")}


def masks(draw, batch, rows):
    return draw.pick(None, np.asarray([draw.whole(1, rows) for _ in range(batch)], np.int32),
                     np.concatenate([np.ones((batch, 1)), draw.bools(batch, rows - 1)], 1).astype(np.int32))


def self_attention(draw):
    batch, rows, heads, size = draw.whole(1, 2), draw.whole(2, 4), 2, 4
    wide = heads * size
    return [draw.real(batch, rows, 5), draw.real(5, 3 * wide), draw.real(3 * wide), masks(draw, batch, rows)], {
        "num_heads": heads, "unidirectional": draw.whole(0, 1)}


def level_attention(draw):
    batch, rows, heads, size = draw.whole(1, 2), draw.whole(2, 4), 2, 4
    wide = heads * size
    kind = draw.pick(np.int8, np.uint8)
    arrays = [draw.levels(np.uint8, batch, rows, 8), draw.levels(kind, 8, 3 * wide), draw.real(3 * wide), draw.scale(),
              draw.scale(times=0.2), masks(draw, batch, rows), draw.zero(np.uint8), np.asarray(draw.pick(0, 3), kind)]
    return arrays, {"num_heads": heads}


def heads_apart(draw):
    batch, rows, keys, heads, size = draw.whole(1, 2), draw.whole(2, 4), draw.whole(2, 5), 2, 8
    wide = heads * size
    bias = draw.pick(None, draw.real(3 * wide))
    return [draw.real(batch, rows, wide), draw.real(batch, keys, wide), draw.real(batch, keys, wide), bias], {
        "num_heads": heads}


def attention(draw):
    batch, rows, keys, heads, size = draw.whole(1, 2), draw.whole(2, 4), draw.whole(4, 5), 4, 8
    kv = draw.pick(1, 2, 4)
    attributes = {"is_causal": draw.whole(0, 1)}
    if draw.whole(0, 1):
        arrays = [draw.real(batch, n, x * size) for n, x in ((rows, heads), (keys, kv), (keys, kv))]
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv}
    else:
        arrays = [draw.real(batch, x, n, size) for n, x in ((rows, heads), (keys, kv), (keys, kv))]
    if not attributes["is_causal"]:
        arrays.append(draw.pick(draw.real(rows, keys), draw.real(1, 1, rows, keys)))
    return arrays, attributes


def embedding(draw):
    batch, rows, wide = draw.whole(1, 2), draw.whole(1, 4), 8
    ids = [draw.integers(np.int32, batch, rows, low=0, high=high) for high in (9, 1)]
    return [*ids, draw.real(10, wide), draw.real(6, wide), draw.real(2, wide), draw.real(wide), draw.real(wide),
            np.ones((batch, rows), np.int32)], {}


def turned(draw):
    batch, rows, heads, size = draw.whole(1, 2), draw.whole(1, 4), 2, 8
    angles = draw.real(6, size // 2)
    positions = np.stack([np.arange(rows) for _ in range(batch)]).astype(np.int64)
    x = draw.pick(draw.real(batch, heads, rows, size), draw.real(batch, rows, heads * size))
    return x, positions, np.cos(angles), np.sin(angles), {"interleaved": draw.whole(0, 1)}, heads


def rotary(draw):
    x, positions, cosines, sines, attributes, heads = turned(draw)
    return [x, cosines, sines, positions], attributes | ({"num_heads": heads} if x.ndim == 3 else {})


def rotary_of_microsoft(draw):
    x, positions, cosines, sines, attributes, _ = turned(draw)
    return [x, positions, cosines, sines], attributes

