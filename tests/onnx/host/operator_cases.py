"""Random nodes for the host and ONNX Runtime: a row an operator, with how its inputs and attributes are drawn and how much
of the largest magnitude of an output a number may differ by (0: equal)."""
import dataclasses
import typing

import attention_inputs as made
import node_inputs as of
import numpy as np

MICROSOFT = "com.microsoft"
SUMS, FUNCTIONS, STATES = 1e-5, 4e-6, 4e-5


@dataclasses.dataclass
class Case:
    op: str
    make: typing.Callable  # of a Draw: inputs (None for one left out), attributes
    tolerance: float = 0
    opset: int = 17
    domain: str = ""
    outputs: int = 1
    constants: tuple = ()  # of the inputs, by number


CASES = [
    *(Case(op, of.one) for op in ("Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Relu", "Identity", "HardSigmoid")),
    *(Case(op, of.one, FUNCTIONS) for op in ("Exp", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Erf", "Tanh",
                                             "Sigmoid", "Softplus", "Softsign", "Selu", "HardSwish")),
    *(Case(op, of.one_positive, FUNCTIONS) for op in ("Log", "Sqrt", "Reciprocal")),
    *(Case(op, of.with_real("alpha"), FUNCTIONS) for op in ("LeakyRelu", "ThresholdedRelu", "Elu", "Celu")),
    Case("Mish", of.one, FUNCTIONS, 18),
    Case("Gelu", lambda draw: ([draw.real(3, 5)], {"approximate": draw.pick("none", "tanh")}), FUNCTIONS, 20),
    *(Case(op, of.two) for op in ("Add", "Sub", "Mul", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Max",
                                  "Min")),
    Case("Div", of.division),
    Case("Mod", lambda draw: ([draw.integers(np.int32, 4, 5), draw.integers(np.int32, 5, low=1)], {})),
    Case("Pow", lambda draw: ([draw.positive(3, 4), draw.real(4)], {}), FUNCTIONS),
    Case("Pow", lambda draw: ([draw.real(3, 4), np.asarray(draw.pick(2, 3), np.float32)], {})),
    *(Case(op, of.logic) for op in ("And", "Or", "Xor")),
    Case("PRelu", lambda draw: ([draw.real(2, 3, 4), draw.real(3, 1)], {})),
    *(Case(op, make) for op, make in (("Where", of.where), ("Clip", of.clip), ("Cast", of.cast))),
    *(Case(op, of.reduction, SUMS) for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                                              "ReduceSumSquare", "ReduceLogSumExp")),
    Case("ReduceSum", of.reduced_sum, SUMS),
    *(Case(op, of.along, FUNCTIONS) for op in ("Softmax", "LogSoftmax", "LpNormalization", "Hardmax")),
    Case("Softmax", of.along, FUNCTIONS, 11),
    *(Case(op, of.best) for op in ("ArgMax", "ArgMin")),
    Case("CumSum", of.running_sum),
    Case("BatchNormalization", of.batch_normalization, SUMS),
    Case("LayerNormalization", of.layer_normalization, SUMS),
    Case("InstanceNormalization", of.instance_normalization, SUMS),
    Case("LRN", lambda draw: ([draw.real(1, 6, 3)[..., None]], {"size": draw.pick(3, 5), "alpha": 0.5}), SUMS),
    *(Case(op, make) for op, make in (
        ("Transpose", of.transpose), ("Concat", of.concat), ("Gather", of.gathered), ("GatherElements", of.gathered_elements),
        ("GatherND", of.gathered_nd), ("ScatterND", of.scattered_nd))),
    Case("ScatterElements", of.scattered_elements, opset=18),
    Case("Slice", of.sliced, constants=(1, 2, 3, 4)),
    Case("Pad", of.padded, constants=(1,)),
    Case("Reshape", of.reshaped, constants=(1,)),
    Case("Flatten", lambda draw: ([draw.any(2, 3, 4)], {"axis": draw.whole(-3, 3)})),
    Case("Squeeze", lambda draw: ([draw.any(1, 3, 1), of.i64(draw.pick(0, -1))], {}), constants=(1,)),
    Case("Unsqueeze", lambda draw: ([draw.any(2, 3), of.i64(*draw.pick((0, -1), (1,), (1, 2)))], {}), constants=(1,)),
    Case("Expand", lambda draw: ([draw.any(3, 1), of.i64(2, 1, draw.whole(1, 4))], {}), constants=(1,)),
    Case("Tile", lambda draw: ([draw.any(2, 3), of.i64(draw.whole(1, 3), draw.whole(1, 3))], {}), constants=(1,)),
    Case("Split", lambda draw: ([draw.any(5, 2), of.i64(*draw.pick((1, 4), (2, 3)))], {"axis": draw.pick(0, -2)}), outputs=2),
    Case("DepthToSpace", lambda draw: ([draw.real(1, 8, 2, 3)], {"blocksize": 2, "mode": draw.pick("DCR", "CRD")})),
    Case("SpaceToDepth", lambda draw: ([draw.real(1, 2, 4, 6)], {"blocksize": 2})),
    Case("Trilu", lambda draw: ([draw.any(3, 4), np.asarray(draw.whole(-2, 2))], {"upper": draw.whole(0, 1)})),
    Case("TopK", of.best_k, outputs=2, constants=(1,)),
    Case("NonZero", lambda draw: ([draw.bools(*draw.shape())], {})),
    Case("OneHot", of.one_hot, constants=(1,)),
    Case("Einsum", of.einsum, SUMS),
    Case("Resize", of.resized, SUMS, constants=(2, 3)),
    Case("MatMul", of.product, SUMS),
    Case("Gemm", of.gemm, SUMS),
    Case("Conv", of.convolution, SUMS),
    Case("ConvTranspose", of.transposed_convolution, SUMS),
    Case("MaxPool", of.pool),
    Case("AveragePool", of.average_pool, SUMS),
    *(Case(op, of.picture, SUMS) for op in ("GlobalAveragePool", "GlobalMaxPool")),
    Case("RNN", of.recurrent(1), STATES, outputs=2),
    Case("GRU", of.recurrent(3), STATES, outputs=2),
    Case("LSTM", of.recurrent(4), STATES, outputs=3),
    Case("QuantizeLinear", of.quantization),
    Case("DequantizeLinear", of.dequantization),
    Case("DynamicQuantizeLinear", of.one, outputs=3),
    Case("QLinearConv", of.level_convolution),
    Case("QLinearMatMul", of.level_product),
    Case("MatMulInteger", of.integer_product),
    *(Case(op, of.level_pair, domain=MICROSOFT) for op in ("QLinearAdd", "QLinearMul")),
    *(Case(op, of.level_table, domain=MICROSOFT) for op in ("QLinearSigmoid", "QLinearLeakyRelu")),
    Case("If", made.branch),
    Case("Loop", made.loop, SUMS, outputs=2),
    Case("Scan", made.scan, outputs=2),
    Case("DynamicQuantizeLSTM", made.dynamic_lstm, STATES, domain=MICROSOFT, outputs=3),
    Case("Attention", made.self_attention, SUMS, domain=MICROSOFT),
    Case("QAttention", made.level_attention, SUMS, domain=MICROSOFT),
    Case("MultiHeadAttention", made.heads_apart, SUMS, domain=MICROSOFT),
    Case("EmbedLayerNormalization", made.embedding, SUMS, domain=MICROSOFT, outputs=2),
    Case("Attention", made.attention, SUMS, 23),
    Case("RotaryEmbedding", made.rotary, SUMS, 23),
    Case("RotaryEmbedding", made.rotary_of_microsoft, SUMS, domain=MICROSOFT),
]
