"""Forty models as people export them, put through the commands: what works with what.

Made with torch's two exporters, with skl2onnx, and by hand in the way Keras's converter writes.
The packages that export are not Assay's own: `pip install -c constraints.txt -e .[dev,exports]`.

    PYTHONPATH=benchmarks python -m real_exports.make FOLDER
    PYTHONPATH=benchmarks python -m real_exports.table FOLDER docs/models.md
"""
