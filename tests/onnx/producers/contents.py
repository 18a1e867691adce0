"""What the fixtures contain: for each file its operators, for each network every attribute and type that occurs.

usage: contents.py DIR          prints a table: network, form, bytes, operators
       contents.py --write DIR  writes contents.json beside this script, which fixtures_test.py compares
"""
import collections
import json
import pathlib
import sys

import onnx
from onnx import helper, numpy_helper

FILE = pathlib.Path(__file__).with_name("contents.json")


def is_scale(node, index):
    """Whether an input of a node is a scale, by the order of ONNX's and ONNX Runtime's operators."""
    if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        return index == 1
    if node.op_type == "QLinearConcat":
        return index == 0 or index >= 2 and index % 3 == 0
    if node.op_type in ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul"):
        return index in (1, 4, 6)
    if node.op_type == "QGemm":
        return index in (1, 4, 7)
    return node.op_type.startswith("QLinear") and index in (1, 3)


def constants_of(graph):
    """Name -> array, of initializers and Constant nodes, also through Identity."""
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            arrays[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        elif node.op_type == "Identity" and node.input[0] in arrays:
            arrays[node.output[0]] = arrays[node.input[0]]
    return arrays


def scales(model):
    """Every scale of a model's quantized operators, once for each place where one is read."""
    arrays = constants_of(model.graph)
    return [float(scale) for node in model.graph.node for index, name in enumerate(node.input)
            if is_scale(node, index) for scale in arrays[name].ravel()]


def operators_of(model):
    counts = collections.Counter(f"{node.domain}.{node.op_type}".lstrip(".") for node in model.graph.node)
    return dict(sorted(counts.items()))


def attributes_of(model):
    """Operator -> set of "attribute=value"; tensors as their type and shape."""
    found = collections.defaultdict(set)
    for node in model.graph.node:
        for attribute in node.attribute:
            value = helper.get_attribute_value(attribute)
            if isinstance(value, onnx.TensorProto):
                value = f"{onnx.TensorProto.DataType.Name(value.data_type).lower()}{list(value.dims)}"
            elif isinstance(value, bytes):
                value = value.decode()
            elif isinstance(value, float):
                value = f"{value:g}"
            found[node.op_type].add(f"{attribute.name}={value}")
    return found


def described(folder):
    """{"operators": {network: {form: {operator: count}}}, "attributes": {operator: [..]}, "opsets": {form: ..}}."""
    operators, attributes, opsets = {}, collections.defaultdict(set), {}
    for file in sorted(pathlib.Path(folder).glob("*.onnx")):
        network, form, _ = file.name.split(".")
        model = onnx.load(file)
        operators.setdefault(network, {})[form] = operators_of(model)
        opsets[form] = {opset.domain or "ai.onnx": opset.version for opset in model.opset_import}
        for operator, values in attributes_of(model).items():
            attributes[operator] |= values
    return {"operators": operators, "opsets": opsets,
            "attributes": {operator: sorted(values) for operator, values in sorted(attributes.items())}}


def lines_of(contents):
    """JSON with one line a file, an operator or an opset."""
    parts = []
    for key, table in contents.items():
        rows = [f'  {json.dumps(name)}: {{\n' + ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in row.items())
                + "\n  }" if key == "operators" else f"  {json.dumps(name)}: {json.dumps(row)}"
                for name, row in table.items()]
        parts.append(f'{json.dumps(key)}: {{\n' + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(words):
    if words[:1] == ["--write"] and len(words) == 2:
        FILE.write_text(lines_of(described(words[1])), encoding="utf8")
    elif len(words) == 1:
        for file in sorted(pathlib.Path(words[0]).glob("*.onnx")):
            network, form, _ = file.name.split(".")
            counts = ", ".join(f"{count} {name}" for name, count in operators_of(onnx.load(file)).items())
            print(f"{network:18} {form:17} {file.stat().st_size:6} {counts}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
