"""The hand-written models run, and the page's table speaks of all forty."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from real_exports.questions import write_question
from real_exports.table import BEGIN, COMMANDS, END

from assay.question.asked import read_specification
from assay.question.model_file import ModelFile
from assay.question.runnable import Runnable
from real_exports import keras_graphs

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


@pytest.mark.parametrize("graph", keras_graphs.GRAPHS, ids=lambda graph: str(graph[0]))
def test_graphs_as_keras_writes_them_are_sampled(
    graph: tuple[str, object, tuple[int, ...], int | None], tmp_path: Path
) -> None:
    _, make, shape, batch = graph
    assert callable(make)
    model = make(batch)
    onnx.checker.check_model(model, full_check=True)
    runnable = Runnable(ModelFile(model, model.SerializeToString(), "keras.onnx"), shape)
    assert (runnable.shape, runnable.outputs) == (shape, keras_graphs.CLASSES)
    assert runnable.batched == (batch is None)
    onnx.save(model, tmp_path / "net.onnx")
    np.save(tmp_path / "point.npy", np.full(shape, 0.5, np.float32))
    write_question(tmp_path / "net.onnx", tmp_path / "point.npy", tmp_path / "net.vnnlib")
    (case,) = read_specification(tmp_path / "net.vnnlib").cases
    assert (case.box.dimension, case.violation.outputs) == (runnable.inputs, runnable.outputs)


def test_the_page_speaks_of_forty_models_and_every_refusal_has_its_reason() -> None:
    table = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) == 40
    assert {len(row) for row in rows} == {1 + len(COMMANDS)}
    by_command = dict(zip(COMMANDS, zip(*(row[1:] for row in rows), strict=True), strict=True))
    for command in ("decide", "roma"):
        assert {cell.strip() for cell in by_command[command]} == {"yes"}
    assert {cell.strip() for cell in by_command["attack"]} <= {"yes", "black box"}
    asked = {int(number) for number in re.findall(r"no \((\d+)\)", table)}
    told = {int(number) for number in re.findall(r"^(\d+)\. .+", table, re.MULTILINE)}
    assert asked == told
