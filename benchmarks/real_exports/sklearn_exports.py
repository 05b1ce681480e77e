"""Classifiers of scikit-learn, as skl2onnx writes them: a label and probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SHAPE = (4,)
CLASSIFIERS = {
    "logistic": LogisticRegression(max_iter=500),
    "forest": RandomForestClassifier(20, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "svc": SVC(),
    "neighbours": KNeighborsClassifier(),
    "pipeline-mlp": make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=800)),
}
"""The default writes probabilities as a map for each input; `tensor` below does not."""


def export_all(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    rows, labels = load_iris(return_X_y=True)
    rows = rows.astype(np.float32)
    for title, classifier in CLASSIFIERS.items():
        fitted = classifier.fit(rows, labels)
        for form, options in (("maps", {}), ("tensor", {"zipmap": False})):
            if form == "tensor" and title != "logistic":
                continue
            name = f"sklearn-{title}-{form}"
            given = {"options": {id(fitted): options}} if options else {}
            model = to_onnx(fitted, rows[:1], **given)
            (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
            yield name, SHAPE
