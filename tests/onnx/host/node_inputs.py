"""How the inputs (None for one left out) and attributes of a random node are drawn, of a Draw."""
import numpy as np


def i64(*values):
    return np.asarray(values, np.int64)


def one(draw):
    return [draw.real(*draw.shape())], {}


def one_positive(draw):
    return [draw.positive(*draw.shape())], {}


def two(draw):
    a, b = draw.broadcast()
    first = draw.any(*a)
    return [first, draw.like(first, *b)], {}


def division(draw):
    inputs, _ = two(draw)
    divisor = inputs[1]
    divisor[divisor == 0] = 3
    return inputs, {}


def logic(draw):
    return [draw.bools(*shape) for shape in draw.broadcast()], {}


def with_real(name):
    return lambda draw: ([draw.real(*draw.shape())], {name: float(draw.positive())})


def reduction(draw):
    x = draw.real(*draw.shape())
    return [x], {"axes": draw.axes(x.ndim), "keepdims": draw.whole(0, 1)}


def reduced_sum(draw):
    x = draw.any(*draw.shape())
    return [x, i64(*draw.axes(x.ndim))], {"keepdims": draw.whole(0, 1)}


def along(draw):
    x = draw.real(*draw.shape())
    return [x], {"axis": draw.axis(x.ndim)}


def best(draw):
    x = draw.integers(np.int32, *draw.shape(), low=-3, high=3)
    return [x], {"axis": draw.axis(x.ndim), "keepdims": draw.whole(0, 1), "select_last_index": draw.whole(0, 1)}


def running_sum(draw):
    x = draw.integers(np.int64, *draw.shape())
    return [x, np.asarray(draw.axis(x.ndim))], {"exclusive": draw.whole(0, 1), "reverse": draw.whole(0, 1)}


def batch_normalization(draw):
    x = draw.real(2, draw.whole(1, 5), *draw.shape(0, 2))
    channels = x.shape[1]
    return [x, draw.real(channels), draw.real(channels), draw.real(channels), draw.positive(channels)], {}


def layer_normalization(draw):
    x = draw.real(2, *draw.shape(1, 2), 6)
    return [x, draw.real(6), draw.pick(None, draw.real(6))], {"axis": -1}


def instance_normalization(draw):
    x = draw.real(2, 3, *draw.shape(1, 2), 4)
    return [x, draw.real(3), draw.real(3)], {}


def where(draw):
    a, b = draw.broadcast()
    x = draw.any(*a)
    return [draw.bools(*b), x, draw.like(x, *draw.pick(a, b, ()))], {}


def clip(draw):
    x = draw.any(*draw.shape())
    low, high = (np.asarray(bound, x.dtype) for bound in (-2, 1))
    return [x, draw.pick(None, low), draw.pick(None, high)], {}


def cast(draw):
    # A real number beyond the range of an integer type means nothing.
    return [draw.pick(draw.real(4, 5) * 10, draw.bools(3), draw.levels(np.uint8, 6))], {"to": draw.pick(1, 6, 7, 9, 11)}


def transpose(draw):
    x = draw.any(*draw.shape())
    return [x], {"perm": [int(a) for a in draw.random.permutation(x.ndim)]}


def concat(draw):
    shape = draw.shape()
    axis = draw.axis(len(shape))
    first = draw.any(*shape)
    sizes = [list(shape) for _ in range(draw.whole(0, 3))]
    for size in sizes:
        size[axis] = draw.whole(1, 4)
    return [first, *(draw.like(first, *size) for size in sizes)], {"axis": axis}


def sliced(draw):
    x = draw.any(*draw.shape())
    axes = draw.axes(x.ndim)
    starts, ends, steps = ([draw.pick(*numbers) for _ in axes] for numbers in
                           ((-2, -1, 0, 1, 7), (-7, -1, 1, 3, 2**62), (-2, -1, 1, 2)))
    return [x, i64(*starts), i64(*ends), i64(*axes), i64(*steps)], {}


def gathered(draw):
    x = draw.any(*draw.shape())
    axis = draw.axis(x.ndim)
    size = x.shape[axis]
    return [x, draw.integers(np.int64, *draw.shape(0, 2), low=-size, high=size - 1)], {"axis": axis}


def gathered_elements(draw):
    x = draw.any(*draw.shape())
    axis = draw.axis(x.ndim)
    size = x.shape[axis]
    return [x, draw.integers(np.int64, *x.shape, low=-size, high=size - 1)], {"axis": axis}


def gathered_nd(draw):
    x = draw.any(3, 2, *draw.shape(0, 2))
    return [x, np.stack([draw.integers(np.int64, 4, low=-s, high=s - 1) for s in x.shape[:2]], 1)], {}


def scattered_nd(draw):
    x = draw.any(4, 3, *draw.shape(0, 1))
    places = i64(*draw.random.permutation(4)[:2])[:, None]
    return [x, places, draw.like(x, 2, *x.shape[1:])], {}


def scattered_elements(draw):
    x = draw.real(*draw.shape())
    axis = draw.axis(x.ndim)
    order = np.argsort(draw.real(*x.shape), axis=axis).astype(np.int64)
    return [x, order, draw.real(*x.shape)], {"axis": axis, "reduction": draw.pick("none", "add", "mul")}


def padded(draw):
    x = draw.real(*(size + 2 for size in draw.shape()))
    mode = draw.pick("constant", "edge", "reflect")
    pads = draw.integers(np.int64, 2 * x.ndim, low=-1 if mode == "constant" else 0, high=2)
    return [x, pads, np.asarray(draw.real())], {"mode": mode}


def reshaped(draw):
    x = draw.any(2, 3, 4)
    return [x, i64(*draw.pick((6, 4), (0, -1), (-1,), (4, 3, 2), (0, 0, 2, -1)))], {}


def resized(draw):
    x = draw.real(1, 2, draw.whole(2, 6), draw.whole(2, 6))
    attributes = {"mode": draw.pick("nearest", "linear", "cubic"), "coordinate_transformation_mode":
                  draw.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")}
    # Near a tie between two pixels, ONNX Runtime's float32 coordinates decide: whole scales have none.
    if attributes["mode"] == "nearest":
        attributes["coordinate_transformation_mode"] = "asymmetric"
        attributes["nearest_mode"] = draw.pick("floor", "round_prefer_floor")
        return [x, None, np.float32([1, 1, 2, 3])], attributes
    sizes = i64(1, 2, draw.whole(1, 9), draw.whole(1, 9))
    return [x, None, None, sizes], attributes


def best_k(draw):
    x = draw.integers(np.int64, *draw.shape(), low=-4, high=4)
    axis = draw.axis(x.ndim)
    return [x, i64(draw.whole(1, x.shape[axis]))], {"axis": axis, "largest": draw.whole(0, 1)}


def one_hot(draw):
    return [draw.integers(np.int64, *draw.shape(1, 2), low=-4, high=3), i64(4), draw.real(2)], {"axis": draw.pick(-1, 0)}


def einsum(draw):
    return [draw.real(2, 3, 4), draw.real(*draw.pick((4, 5),))], {"equation": draw.pick("abc,cd->abd", "abc,cd->da")}


def product(draw):
    m, k, n = draw.whole(1, 6), draw.whole(1, 20), draw.whole(1, 6)
    a, b = draw.pick(((m, k), (k, n)), ((k,), (k, n)), ((2, m, k), (k,)), ((2, 1, m, k), (3, k, n)))
    return [draw.real(*a), draw.real(*b)], {}


def gemm(draw):
    m, k, n = draw.whole(1, 6), draw.whole(1, 20), draw.whole(1, 6)
    turned = [draw.whole(0, 1) for _ in range(2)]
    a, b = ((k, m) if turned[0] else (m, k)), ((n, k) if turned[1] else (k, n))
    c = draw.pick(None, (n,), (m, 1), (m, n), ())
    return [draw.real(*a), draw.real(*b), c if c is None else draw.real(*c)], {
        "transA": turned[0], "transB": turned[1], "alpha": draw.pick(1.0, 0.5), "beta": draw.pick(1.0, 2.0)}


def convolution(draw):
    rank, group, inner, outer = draw.whole(1, 3), draw.pick(1, 1, 2, 3), draw.whole(1, 3), draw.whole(1, 3)
    attributes = draw.window(rank)
    size = [draw.whole(6, 8) for _ in range(rank)]
    return [draw.real(2, group * inner, *size), draw.real(group * outer, inner, *attributes["kernel_shape"]),
            draw.pick(None, draw.real(group * outer))], {**attributes, "group": group}


def transposed_convolution(draw):
    rank, group, inner, outer = draw.whole(1, 2), draw.pick(1, 2), draw.whole(1, 3), draw.whole(1, 3)
    attributes = draw.window(rank)
    attributes["pads"] = [0] * (2 * rank)
    attributes.pop("auto_pad", None)
    return [draw.real(2, group * inner, *([5] * rank)), draw.real(group * inner, outer, *attributes["kernel_shape"]),
            draw.pick(None, draw.real(group * outer))], {**attributes, "group": group}


def pool(draw):
    rank = draw.whole(1, 3)
    return [draw.real(2, 2, *([6] * rank))], draw.window(rank, pool=True)


def average_pool(draw):
    inputs, attributes = pool(draw)
    return inputs, {**attributes, "count_include_pad": draw.whole(0, 1)}


def picture(draw):
    return [draw.real(2, 3, *draw.shape(1, 3))], {}


def recurrent(gates):
    def make(draw):
        directions = draw.pick(1, 1, 2)
        steps, batch, inputs, hidden = 4, 2, 3, draw.whole(1, 4)
        attributes = {"hidden_size": hidden,
                      "direction": "bidirectional" if directions == 2 else draw.pick("forward", "reverse")}
        if gates == 3:
            attributes["linear_before_reset"] = draw.whole(0, 1)
        return [draw.real(steps, batch, inputs), draw.real(directions, gates * hidden, inputs),
                draw.real(directions, gates * hidden, hidden),
                draw.pick(None, draw.real(directions, 2 * gates * hidden))], attributes
    return make


def quantization(draw):
    kind = draw.pick(np.uint8, np.int8)
    x = draw.real(3, 4, 5) * 3
    if draw.whole(0, 1):
        return [x, draw.scale(), draw.zero(kind)], {}
    return [x, draw.scale(4), draw.levels(kind, 4)], {"axis": 1}


def dequantization(draw):
    kind = draw.pick(np.uint8, np.int8)
    x = draw.levels(kind, 3, 4, 5)
    if draw.whole(0, 1):
        return [x, draw.scale(), draw.zero(kind)], {}
    return [x, draw.scale(4), draw.levels(kind, 4)], {"axis": -2}


def weights_of(draw, *shape):
    """Of 7 bits: a processor without VNNI adds pairs of products in 16 bits."""
    return draw.integers(np.int8, *shape, low=-64, high=63)


def level_convolution(draw):
    group, inner, outer = draw.pick(1, 2), draw.whole(1, 4), draw.whole(1, 4)
    attributes = draw.window(2)
    channels = draw.pick((), (group * outer,))
    return [draw.levels(np.uint8, 1, group * inner, 7, 6), draw.scale(), draw.zero(np.uint8),
            weights_of(draw, group * outer, inner, *attributes["kernel_shape"]), draw.scale(*channels),
            np.zeros(channels, np.int8), draw.scale(times=5), draw.zero(np.uint8),
            draw.integers(np.int32, group * outer, low=-999, high=999)], {**attributes, "group": group}


def level_product(draw):
    m, k, n = draw.whole(1, 6), draw.whole(1, 20), draw.whole(1, 6)
    return [draw.levels(np.uint8, m, k), draw.scale(), draw.zero(np.uint8), weights_of(draw, k, n), draw.scale(),
            np.zeros((), np.int8), draw.scale(times=9), draw.zero(np.uint8)], {}


def integer_product(draw):
    m, k, n = draw.whole(1, 6), draw.whole(1, 20), draw.whole(1, 6)
    return [draw.levels(np.uint8, m, k), weights_of(draw, k, n), draw.zero(np.uint8), np.zeros((), np.int8)], {}


def level_pair(draw):
    kind = draw.pick(np.uint8, np.int8)
    inputs = []
    for shape in draw.broadcast():
        inputs += [draw.levels(kind, *shape), draw.scale(), draw.zero(kind)]
    return [*inputs, draw.scale(times=2), draw.zero(kind)], {}


def level_table(draw):
    kind = draw.pick(np.uint8, np.int8)
    return [draw.levels(kind, 40), draw.scale(), draw.zero(kind), draw.scale(), draw.zero(kind)], {}
