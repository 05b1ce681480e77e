"""What a finished training leaves in its folder: networks, proved instances, open questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from assay.suite.build_journal import Plan, TaskRecord, open_journal
from assay.suite.exchange.listed_files import write_list
from assay.suite.listing import document, row, versions
from assay.suite.verified import require_verified
from assay.truth.instance import Instance
from assay.truth.training.questions import FAMILY, question, violated
from assay.truth.training.record import Trained

_TIMEOUT = 100
"""Seconds an instance: the paper's."""


def instance_name(network: str, place: int) -> str:
    """Of the example at a place of a network."""
    return f"{network}-{place}-violated"


def write_networks(folder: Path, networks: Sequence[Trained]) -> None:
    folder.mkdir()
    for trained in networks:
        trained.write(folder)


def write_violated(folder: Path, networks: Sequence[Trained]) -> list[int]:
    """The number of instances of each network; no folder where there are none."""
    made = [_hidden(trained) for trained in networks]
    if any(made):
        text = json.dumps([[t.name, asdict(t.schedule), asdict(t.setting)] for t in networks])
        plan = Plan(text, 0, versions())
        with open_journal(folder, plan) as journal:
            journal.begin()
            records: list[TaskRecord] = [
                journal.store(trained.name, FAMILY, trained.setting.seed, 0.0, instances, ())
                for trained, instances in zip(networks, made, strict=True)
                if instances
            ]
            rows = [row(one, _TIMEOUT) for record in records for one in record.instances]
            journal.finish(rows, document("trained", plan, records, {}), complete=True)
    return list(map(len, made))


def _hidden(trained: Trained) -> tuple[Instance, ...]:
    found: list[Instance] = []
    parameters = {"network": trained.name, **asdict(trained.schedule), **asdict(trained.setting)}
    for place in trained.kept:
        instance = violated(trained, place, parameters, trained.setting.seed)
        if instance is not None:
            require_verified(instance)
            found.append(instance.renamed(instance_name(trained.name, place), None))
    return tuple(found)


def write_regular(folder: Path, networks: Sequence[Trained]) -> None:
    for part in ("onnx", "vnnlib"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, float]] = []
    for trained in networks:
        (folder / "onnx" / f"{trained.name}.onnx").write_bytes(trained.onnx)
        planted = len(trained.examples.targets)
        for place in range(planted, 2 * planted):
            asked = question(trained, place, {}, trained.setting.seed)
            name = f"vnnlib/{trained.name}-{place}.vnnlib"
            (folder / name).write_bytes(asked.question_bytes())
            rows.append((f"onnx/{trained.name}.onnx", name, _TIMEOUT))
    write_list(folder, rows)
