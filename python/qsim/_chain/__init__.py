"""QuantizedSequential: a chain whose tensors stay int8 between layers, and its backward pass."""
