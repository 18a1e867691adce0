"""Small random graphs for the host: of float32 numbers with convolutions, pools and shapes that other nodes tell, or of
integers."""
import numpy as np
from onnx import helper


class Graph:
    def __init__(self, draw, x):
        self.draw = draw
        self.nodes, self.constants, self.outputs = [], {}, []
        self.inputs = {"x": x}
        self.last, self.shape, self.dtype = "x", x.shape, x.dtype

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def extend(self, op, *more, **attributes):
        self.last = self.add(op, [self.last, *more], **attributes)

    def numbers(self, *shape):
        if self.dtype == np.float32:
            return self.constant(self.draw.real(*shape))
        return self.constant(self.draw.integers(self.dtype, *shape, low=-3, high=3))


def function(graph):
    graph.extend(graph.draw.pick("Relu", "Sigmoid", "Tanh", "HardSwish"))


def arithmetic(graph):
    shape = graph.draw.pick((), graph.shape[-1:], (graph.shape[1], 1, 1))
    graph.extend(graph.draw.pick("Add", "Mul", "Sub", "Max"), graph.numbers(*shape))


def skip(graph):
    """Adds what an earlier node wrote where it has the same shape: this one's input."""
    before = graph.last
    function(graph) if graph.dtype == np.float32 else graph.extend("Neg")
    graph.extend("Add", before)


def convolution(graph):
    channels = graph.draw.whole(1, 4)
    graph.extend("Conv", graph.numbers(channels, graph.shape[1], 3, 3), graph.numbers(channels), pads=[1, 1, 1, 1])
    graph.shape = (graph.shape[0], channels, *graph.shape[2:])


def pool(graph):
    graph.extend(graph.draw.pick("MaxPool", "AveragePool"), kernel_shape=[2, 2], pads=[1, 0, 0, 1])


def turned(graph):
    graph.extend("Transpose", perm=[0, 1, 3, 2])
    graph.shape = (*graph.shape[:2], graph.shape[3], graph.shape[2])


def doubled(graph):
    axis = graph.draw.whole(1, 3)
    graph.extend("Concat", graph.last, axis=axis)
    graph.shape = tuple(2 * size if i == axis else size for i, size in enumerate(graph.shape))


def halved(graph):
    axis = graph.draw.whole(1, 3)
    graph.extend("Slice", *(graph.constant(np.int64([n])) for n in (0, 2**31, axis, 2)))
    graph.shape = tuple((size + 1) // 2 if i == axis else size for i, size in enumerate(graph.shape))


def reshaped(graph):
    """There and back, by shapes that nodes tell."""
    shape = graph.add("Shape", [graph.last])
    first = graph.add("Gather", [shape, graph.constant(np.int64([0]))], axis=0)
    flat = graph.add("Concat", [first, graph.constant(np.int64([-1]))], axis=0)
    graph.extend("Reshape", flat)
    graph.extend("Neg")
    graph.extend("Reshape", shape)


def chosen(graph):
    is_more = graph.add("Greater", [graph.last, graph.numbers()])
    graph.last = graph.add("Where", [is_more, graph.last, graph.numbers(graph.shape[-1])])


def normalized(graph):
    mean = graph.add("ReduceMean", [graph.last], axes=[graph.draw.pick(1, -1)])
    graph.extend("Sub", mean)


def summed(graph):
    graph.extend("Add", graph.add("ReduceSum", [graph.last, graph.constant(np.int64([graph.draw.pick(1, 2, 3)]))]))


ANY = [arithmetic, skip, turned, doubled, halved, reshaped, chosen, summed]


def random_graph(draw):
    """Nodes, inputs and constants by name, and the names of the outputs."""
    shape = (draw.whole(1, 2), draw.whole(1, 3), draw.whole(2, 5), draw.whole(2, 5))
    if draw.whole(0, 2):
        graph, steps = Graph(draw, draw.real(*shape)), [*ANY, function, convolution, pool, normalized]
    else:
        graph, steps = Graph(draw, draw.integers(draw.pick(np.int32, np.int64), *shape, low=-9, high=9)), ANY
    for _ in range(draw.whole(2, 7)):
        draw.pick(*steps)(graph)
        if draw.whole(0, 4) == 0:
            graph.outputs.append(graph.last)
    if graph.last not in graph.outputs:
        graph.outputs.append(graph.last)
    return graph.nodes, graph.inputs, graph.constants, graph.outputs
