"""Assay's own verifiers, so that an audit has something to say with nothing installed.

Each module has `answer(network, specification, seconds) -> Answer`; they run in a process of
their own, like any other tool: `python -m assay.judge.builtin NAME ONNX VNNLIB SECONDS RESULT`.
"""
