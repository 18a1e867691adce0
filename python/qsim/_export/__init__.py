"""export_onnx(): trained modules as ONNX files. Part of qsim.torch."""
