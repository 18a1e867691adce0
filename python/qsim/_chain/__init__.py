"""QuantizedSequential: a chain whose tensors stay int8 between layers, its backward and its ONNX file."""
