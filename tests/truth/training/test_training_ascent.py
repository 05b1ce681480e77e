"""The attack: inside the box, honest about what it found; what is trained on where it fails."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_training import CPU, state, tiny, trainer

from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.ascent import Ascent, margin_of_wrong
from assay.truth.training.bank import Bank
from assay.truth.training.banks import new_bank
from assay.truth.training.example_tensors import ExampleTensors
from assay.truth.training.examples import drawn
from assay.truth.training.settings import Setting

SETTINGS = (Setting(0, epsilon=0.1), Setting(1, epsilon=0.3))


def attacked(architecture: str, steps: int) -> tuple[Bank, ExampleTensors, Ascent]:
    schedule = tiny(architecture=architecture)
    examples = ExampleTensors.of([drawn(schedule, s) for s in SETTINGS], CPU)
    bank = new_bank(ARCHITECTURES[architecture], 1, schedule.classes, [0, 1], CPU)
    draws = [torch.Generator().manual_seed(s.seed) for s in SETTINGS]
    steps_end = [setting.last_step for setting in SETTINGS]
    attack = Ascent(
        bank, examples, draws, restarts=5, step_size=0.3, last_step=steps_end, fast=True
    )
    attack.run(steps)
    return bank, examples, attack


def margins_at(bank: Bank, examples: ExampleTensors, shifts: torch.Tensor) -> torch.Tensor:
    logits = bank.run(bank.frozen(), examples.centres + shifts)
    return margin_of_wrong(logits, examples.labels.unsqueeze(2)).detach()


@pytest.mark.parametrize("architecture", ["tiny_mlp", "tiny_cnn", "vit"])
def test_it_stays_in_the_box_and_its_margin_is_attained(architecture: str) -> None:
    bank, examples, attack = attacked(architecture, 12)
    assert (attack.best.abs() <= examples.epsilon[:, None, None]).all()
    found = margins_at(bank, examples, attack.best)
    assert torch.allclose(found, attack.margin, atol=1e-6)


def test_more_steps_find_no_less_and_mostly_more() -> None:
    margins = [attacked("tiny_mlp", steps)[2].margin for steps in (1, 4, 16)]
    assert (margins[0] <= margins[1]).all()
    assert (margins[1] <= margins[2]).all()
    assert (margins[0] < margins[2]).float().mean() > 0.8


def test_it_finds_the_worst_corner_of_an_affine_network() -> None:
    """With biases that keep every unit on, the network is affine and its maximum a corner."""
    bank, examples, attack = attacked("tiny_mlp", 0)
    for position in range(2):
        bank.parameters[f"bias{position}"].fill_(20.0)
    attack.run(8)
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 4)
    shifts = corners * examples.epsilon.view(-1, 1, 1, 1)
    centres = examples.centres.unsqueeze(2)
    points = (centres + shifts).flatten(1, 2)
    logits = bank.run(bank.frozen(), points).unflatten(1, (4, 16))
    labels = examples.labels[:, :, None, None].expand(-1, -1, 16, 1)
    worst = margin_of_wrong(logits, labels).amax(2)
    assert torch.allclose(attack.margin, worst, rtol=1e-4)


def test_the_margin_is_of_the_best_wrong_class() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.5]])
    for label, margin in enumerate((2.0, -0.5, 0.5)):
        assert margin_of_wrong(logits, torch.tensor([[label]])).item() == margin


def test_where_the_attack_fails_training_sees_noise_unless_it_persists() -> None:
    pair = (Setting(3, epsilon=0.05, window=1), Setting(3, epsilon=0.05, window=1, persist=True))
    one = trainer(*pair, examples=6)
    before = [one.bank.frozen()[i].detach().clone() for i in range(6)]
    one.advance()
    noisy, persistent = torch.from_numpy(state(one)["window"])[:, 0]
    schedule = tiny(examples=6)
    examples = ExampleTensors.of([drawn(schedule, setting) for setting in pair], CPU)
    logits = one.bank.run(before, examples.centres + torch.stack([noisy, persistent]))
    margins = margin_of_wrong(logits, examples.labels.unsqueeze(2)).detach().numpy()
    succeeded = margins[1] >= 0
    assert 0 < succeeded.sum() < len(succeeded)
    same = (noisy == persistent).all(1).numpy()
    assert np.array_equal(same, succeeded)
    assert (noisy.abs() <= examples.epsilon[0]).all()


@pytest.mark.parametrize(("gentle", "weaker"), [(0.0, 0), (0.5, 12), (1.0, 24)])
def test_the_first_epochs_may_have_a_third_of_the_attack(
    monkeypatch: pytest.MonkeyPatch, gentle: float, weaker: int
) -> None:
    taken: list[int] = []
    run = Ascent.run
    monkeypatch.setattr(
        Ascent, "run", lambda self, steps: (taken.append(steps), run(self, steps))[1]
    )
    one = trainer(Setting(0, window=2), gentle=gentle, steps=6)
    for _ in range(24):
        one.advance()
    assert taken == [2] * weaker + [6] * (24 - weaker)


def test_every_second_restart_shrinks_its_steps() -> None:
    schedule = tiny(architecture="tiny_mlp")
    pair = (Setting(0, epsilon=0.1, last_step=0.001), Setting(1, epsilon=0.3, last_step=0.1))
    examples = ExampleTensors.of([drawn(schedule, s) for s in pair], CPU)
    bank = new_bank(ARCHITECTURES["tiny_mlp"], 1, schedule.classes, [0, 1], CPU)
    draws = [torch.Generator().manual_seed(s.seed) for s in pair]
    attack = Ascent(
        bank, examples, draws, restarts=4, step_size=0.1, last_step=[0.001, 0.1], fast=False
    )
    attack.run(21)
    # after the last move the next step would be one factor smaller
    left = attack._step[:, 0, :, 0] / examples.epsilon[:, None]
    factor = (0.001 / 0.1) ** (1 / 20)
    shrunk = 0.001 * factor
    expected = torch.tensor([[0.1, shrunk, 0.1, shrunk], [0.1] * 4])
    torch.testing.assert_close(left, expected, rtol=1e-4, atol=0)
