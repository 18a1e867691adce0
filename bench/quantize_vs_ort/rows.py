"""What is compared, fixed before anything was measured: networks, pictures, seed, test, rows.

A row has a way of ONNX Runtime's quantize_static, or several of which the best counts, and options of `qsim quantize`.
"""
import dataclasses
import itertools

SEED = 16
CALIBRATION_PICTURES = 512
TEST_PICTURES = 3000
ALPHA = 0.05  # of McNemar's exact test, two-sided, for each row by itself

NETWORKS = {"vgg8": "models/vgg8-cifar10/vgg8-float.onnx", "resnet14": "models/resnet14-cifar10/resnet14-float.onnx"}

METHODS = ("MinMax", "Entropy", "Percentile")
# ONNX Runtime's Percentile keeps 99.999% of the values: it cuts half of the rest on each side.
CLIPPING = {"MinMax": ["--clipping", "min_max"], "Entropy": ["--clipping", "entropy"],
            "Percentile": ["--clipping", "percentile", "--percentile", "0.0005,99.9995"]}
# quantize_static's weights: QInt8 is -127..127 and symmetric, QUInt8 all of 0..255 and affine, QInt4 all of -8..7
# and symmetric. The activations are uint8 and affine on both sides, everywhere.
WEIGHTS = {"s8": ["--weight-symmetry", "symmetric", "--reduced-range", "weights"],
           "u8": ["--weight-symmetry", "affine", "--reduced-range", "none"],
           "s4": ["--weight-bits", "4", "--weight-symmetry", "symmetric", "--reduced-range", "none"]}
ACTIVATIONS = ["--activations", "u8", "--symmetry", "affine"]
GRANULARITIES = ("channel", "tensor")


@dataclasses.dataclass(frozen=True)
class OrtWay:
    """The arguments of quantize_static that differ between rows."""
    method: str
    form: str  # qoperator or qdq
    granularity: str
    weights: str

    @property
    def name(self):
        return f"{self.method} {self.form} {self.granularity} u8{self.weights}"


@dataclasses.dataclass(frozen=True)
class Row:
    """`kind`: same: the same scheme on both sides; search, bias, scales: what ONNX Runtime's quantizer lacks."""
    kind: str
    network: str
    ort: tuple  # of OrtWay; of several the one that gets most of the test pictures right
    options: tuple  # of qsim quantize

    @property
    def name(self):
        theirs = self.ort[0].name if len(self.ort) == 1 else "best of " + " ".join(self.ort[0].name.split()[1:])
        return f"{self.network}: {theirs}"


def same_scheme(network, way):
    """quantize_static's scheme in qsim's words."""
    options = ["--form", way.form, "--granularity", way.granularity, *ACTIVATIONS, *CLIPPING[way.method],
               *WEIGHTS[way.weights]]
    return Row("same", network, (way,), tuple(options))


def same_rows(network):
    """Every method, form, granularity and type of weights. QInt4 is only of QDQ files in ONNX Runtime."""
    ways = [OrtWay(method, form, granularity, weights)
            for weights, form, granularity, method in itertools.product(
                ("s8", "u8"), ("qoperator", "qdq"), GRANULARITIES, METHODS)]
    ways += [OrtWay(method, "qdq", granularity, "s4")
             for granularity, method in itertools.product(GRANULARITIES, METHODS)]
    return [same_scheme(network, way) for way in ways]


def best_row(kind, network, granularity, weights, options):
    """The best of ONNX Runtime's methods on the test pictures, which favours it, and options of qsim alone."""
    form = "qdq" if weights == "s4" else "qoperator"
    ways = tuple(OrtWay(method, form, granularity, weights) for method in METHODS)
    return Row(kind, network, ways, tuple(["--form", form, "--granularity", granularity, *ACTIVATIONS,
                                           *WEIGHTS[weights], *options]))


def best_rows(network):
    """What ONNX Runtime's quantizer does not have, beside its best of the same granularity and bits."""
    mse = ["--clipping", "mse"]
    both = [*mse, "--weight-clipping", "mse"]
    rows = []
    for granularity in GRANULARITIES:
        rows += [best_row("search", network, granularity, "s8", mse),
                 best_row("bias", network, granularity, "s8", [*mse, "--bias-correction"]),
                 best_row("search", network, granularity, "s4", both),
                 best_row("bias", network, granularity, "s4", [*CLIPPING["MinMax"], "--bias-correction"]),
                 best_row("bias", network, granularity, "s4", [*both, "--bias-correction"])]
    for scales in ("dyadic", "power_of_two"):
        rows.append(best_row("scales", network, "channel", "s8",
                             [*both, "--bias-correction", "--scale-kind", scales]))
    return rows


def all_rows():
    return [row for network in NETWORKS for row in same_rows(network) + best_rows(network)]
