"""What each ONNX operator does, one file an operator family and view (exact, torch)."""
