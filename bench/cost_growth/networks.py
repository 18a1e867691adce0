"""The networks and arrays whose cost is measured, as files that qsim reads."""
import re
from dataclasses import dataclass

POOL = "pool"
VGG16_CONVOLUTIONS = (64, 64, POOL, 128, 128, POOL, 256, 256, 256, POOL, 512, 512, 512, POOL,
                      512, 512, 512, POOL)
VGG8_CONVOLUTIONS = (64, POOL, 192, POOL, 384, 256, 256, POOL)


@dataclass(frozen=True)
class Network:
    name: str
    size: int  # of the square picture
    convolutions: tuple  # output channels of 3x3 convolutions, and 2x2 pools
    fully_connected: tuple
    dtype: str
    zero_point: int
    seed: int

    def workload(self):
        """As models/workloads/vgg8.yaml and vgg16.yaml, for this size of picture."""
        dtype = ", dtype: uint8" if self.dtype == "uint8" else ""
        zero = f", zero_point: {self.zero_point}" if self.zero_point else ""
        lines = [f"name: {self.name}", f"seed: {self.seed}",
                 f"input: {{shape: [1, {self.size}, {self.size}, 3], dtype: {self.dtype}{zero}}}", "layers:"]
        for channels in self.convolutions:
            lines.append("  - {op: max_pool, kernel: 2}" if channels == POOL else
                         f"  - {{op: conv2d, out_channels: {channels}, kernel: 3, pad: 1, relu: true{dtype}}}")
        lines.append("  - {op: flatten}")
        for features in self.fully_connected[:-1]:
            lines.append(f"  - {{op: fully_connected, out_features: {features}, relu: true}}")
        lines.append(f"  - {{op: fully_connected, out_features: {self.fully_connected[-1]}}}")
        return "\n".join(lines) + "\n"

    def model_bytes(self):
        """int8 weights and int32 biases."""
        total, channels, size = 0, 3, self.size
        for out in self.convolutions:
            if out == POOL:
                size //= 2
            else:
                total += 9 * channels * out + 4 * out
                channels = out
        features = channels * size * size
        for out in self.fully_connected:
            total += features * out + 4 * out
            features = out
        return total


def vgg16(size):
    return Network(f"vgg16-{size}", size, VGG16_CONVOLUTIONS, (4096, 4096, 1000), "uint8", 114, 16)


VGG8 = Network("vgg8", 32, VGG8_CONVOLUTIONS, (256, 128, 10), "int8", 0, 8)
SIZES = (32, 64, 112, 224, 448)
NETWORKS = (VGG8, *map(vgg16, SIZES))

MAIN_ARRAY = "pe16x16"
# configs/ has them all but pe64x64, which is made here: half of tpu128x128 in every size.
ARRAYS = ("pe4x4", "pe8x8", "pe16x16", "pe32x32", "pe64x64", "tpu128x128")
HALVED = ("array_rows", "array_cols", "act_scratchpad_kib", "weight_scratchpad_kib", "accumulator_kib",
          "output_scratchpad_kib", "bus_bytes")


def pe64x64(tpu128x128):
    """The text of a configuration half as large as that of tpu128x128."""
    text = re.sub(r"\A(#.*\n)+", "# Half of tpu128x128.\n", tpu128x128)
    for field in HALVED:
        text = re.sub(rf"^{field}: (\d+)$", lambda match: f"{match[0].split(':')[0]}: {int(match[1]) // 2}",
                      text, flags=re.M)
    return text


def points():
    """(network, array): every picture on the main array, VGG-8 and VGG-16 on every array, and the largest
    picture on the smallest and the largest array."""
    wanted = [(network, MAIN_ARRAY) for network in NETWORKS]
    wanted += [(network, array) for array in ARRAYS for network in (VGG8, vgg16(224)) if array != MAIN_ARRAY]
    wanted += [(vgg16(448), array) for array in (ARRAYS[0], ARRAYS[-1])]
    return wanted
