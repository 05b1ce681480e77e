"""A curve goes on with the model that it began with, and with no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import assay

SCORES = """
import numpy as np
import torch

from rule import bound

def net(x):
    return np.stack([np.full(len(x), bound), x[:, 0]], 1)

class Step(torch.nn.Module):
    def forward(self, x):
        return torch.stack([torch.full((len(x),), bound), x[:, 0]], 1)

step = Step()
"""


@pytest.mark.parametrize("name", ["net", "step"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("nets.py", SCORES.replace("x[:, 0]", "0 * x[:, 0] + 9.0")),  # all inputs fail now
        ("rule.py", "bound = -9.0\n"),
    ],
)
def test_an_edited_model_is_no_part_of_the_old_curve(
    tmp_path: Path, name: str, file: str, text: str
) -> None:
    (tmp_path / "nets.py").write_text(SCORES)
    (tmp_path / "rule.py").write_text("bound = 5.0\n")
    np.savez(tmp_path / "data.npz", inputs=np.zeros((2, 3)), labels=np.zeros(2, np.int64))
    words = ("weakened", "curve", f"nets.py:{name}", "data.npz", "--radii", "1", "--eps", "0.1")
    words = (*words, "--points", "all", "-o", "curve")
    assert assay(*words, cwd=tmp_path).returncode == 0
    kept = {path.name: path.read_bytes() for path in (tmp_path / "curve").iterdir()}
    (tmp_path / file).write_text(text)
    done = assay(*words, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()[-1:]
    assert f"as it was before the file {file}" in line
    assert "choose another folder" in line
    assert {path.name: path.read_bytes() for path in (tmp_path / "curve").iterdir()} == kept


def test_weights_set_on_a_function_are_no_part_of_the_old_curve(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import numpy as np\ndef net(x):\n    return x @ net.w\nnet.w = np.load('w.npy')\n"
    )
    np.savez(tmp_path / "data.npz", inputs=np.eye(2), labels=np.arange(2))
    words = ("weakened", "curve", "nets.py:net", "data.npz", "--radii", "0.1", "--eps", "0.1")
    words = (*words, "-o", "curve", "--points", "all")
    np.save(tmp_path / "w.npy", np.eye(2, dtype=np.float32))
    assert assay(*words, cwd=tmp_path).returncode == 0
    np.save(tmp_path / "w.npy", -np.eye(2, dtype=np.float32))
    done = assay(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "as it was before what the model holds" in done.stderr
