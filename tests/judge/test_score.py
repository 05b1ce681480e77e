"""Scores from made-up results about real truths: soundness first, nothing hidden."""

from __future__ import annotations

import csv
import io
import json
import random
import tracemalloc
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_instances import result, truths

from assay.errors import BadInput
from assay.judge.judgement import Asked
from assay.judge.outcome import OUTCOMES
from assay.judge.results import Result
from assay.judge.score import score
from assay.judge.score_export import to_csv, to_document, to_latex
from assay.judge.score_table import VIRTUAL_BEST, Scores
from assay.judge.significance import holm, sign_test, signed_rank

GUARDED = [name for name, truth in truths().items() if truth.guard == "float32"]
LIMITS = dict.fromkeys(truths(), 30.0)


def answers(
    verdict: str | None = None, tool: str = "tool", names: list[str] = GUARDED, **changes: object
) -> list[Result]:
    """The same answer to many instances; without a verdict, the right one."""
    return [
        result(
            name, verdict or truths()[name].answer, verifier=tool, **right_witness(name) | changes
        )
        for name in names
    ]


def right_witness(name: str) -> dict[str, object]:
    return {"witness_class": "exact"} if "violated" in name else {}


def scored(*results: Result, **options: object) -> Scores:
    return score(results, truths(), LIMITS, **options)  # type: ignore[arg-type]


def test_always_right() -> None:
    scores = scored(*answers())
    row = scores.row("tool")
    assert (row.count("proved"), row.count("falsified")) == (6, 6)
    assert (row.solved, row.solved_s, row.par2_s) == (12, 12.0, 1.0)
    assert not scores.findings
    assert not scores.unsound


def test_always_unsat_is_unsound() -> None:
    scores = scored(*answers("robust", "liar-unsat", witness_class=None), *answers())
    row = scores.row("liar-unsat")
    assert (row.count("proved"), row.count("unsound")) == (6, 6)
    assert {f.verifier for f in scores.unsound} == {"liar-unsat"}
    assert all(truths()[f.instance].answer == "violated" for f in scores.unsound)
    ranks = {s.verifier: (s.rank, s.score) for s in scores.ranking["float32"]}
    assert ranks == {"tool": (1, 200.0), "liar-unsat": (2, 0.0)}


def test_always_sat_is_bogus_by_the_class_of_its_witness() -> None:
    scores = scored(*answers("violated", witness_class="missing"))
    row = scores.row("tool")
    assert (row.count("bogus"), row.count("unwitnessed")) == (6, 6)
    assert row.by_class["bogus"] == {"missing": 6}
    assert row.solved == 0
    assert not scores.unsound
    assert {b.points for s in scores.ranking["float32"] for b in s.benchmarks} == {-900}


@pytest.mark.parametrize(
    ("witness_class", "outcome", "points"),
    [
        ("exact", "falsified", 10),
        ("float32 only", "falsified", 10),
        (None, "falsified unchecked", 10),
        ("within tolerance only", "falsified within tolerance", 10),
        ("no violation", "unwitnessed", -150),
        ("outside box", "unwitnessed", -150),
        ("missing", "unwitnessed", -150),
    ],
)
def test_a_right_sat_is_worth_its_witness(
    witness_class: str | None, outcome: str, points: int
) -> None:
    found = result("meap-0-violated", "violated", witness_class=witness_class)
    for year in ("2026", "2024"):
        scores = scored(found, year=year)
        assert scores.row("tool").counts == {outcome: 1}
        assert scores.ranking["float32"][0].benchmarks[0].points == points


@pytest.mark.parametrize(
    ("witness_class", "points"),
    [("within tolerance only", 10), ("outside box", -150), ("missing", -150), (None, -150)],
)
def test_a_wrong_sat_is_bogus_even_where_the_competition_pays_it(
    witness_class: str | None, points: int
) -> None:
    scores = scored(result("meap-0-robust", "violated", witness_class=witness_class))
    assert scores.row("tool").counts == {"bogus": 1}
    assert scores.ranking["float32"][0].benchmarks[0].points == points


@pytest.mark.parametrize(
    ("ending", "verdict", "outcome"),
    [
        ("answered", "unknown", "unknown"),
        ("timeout", None, "timeout"),
        ("timeout", "robust", "timeout"),
        ("out-of-memory", None, "out-of-memory"),
        ("crashed", "robust", "crashed"),
        ("refused", None, "refused"),
        ("unsupported", None, "unsupported"),
        ("garbled", None, "garbled"),
    ],
)
def test_what_is_no_answer(ending: str, verdict: str | None, outcome: str) -> None:
    scores = scored(result("meap-0-violated", verdict, ending=ending))
    row = scores.row("tool")
    assert row.counts == {outcome: 1}
    assert (row.solved, row.par2_s) == (0, 60.0)
    assert scores.ranking["float32"][0].benchmarks[0].points == 0


def test_a_knife_edge_never_makes_anybody_unsound() -> None:
    scores = scored(
        result("edge-0-violated", "robust"),
        result("edge-0-robust", "violated", witness_class="float32 only"),
        result("meap-0-robust", "robust"),
    )
    assert scores.groups == ("float32", "real")
    assert scores.row("tool", "real").counts == {"unsound": 1, "bogus": 1}
    assert scores.row("tool").counts == {"proved": 1}
    assert not scores.unsound
    assert [f.group for f in scores.findings] == ["real", "real"]


def test_families_and_totals() -> None:
    scores = scored(*answers(names=["meap-0-robust", "meap-1-robust", "corners-0-robust"]))
    counts = {row.family: row.instances for row in scores.rows}
    assert counts == {"meap": 2, "corners": 1, "all": 3}


def test_instances_that_were_not_run_count_twice_their_limit() -> None:
    scores = scored(*answers(), *answers(tool="lazy", names=GUARDED[:3]))
    row = scores.row("lazy")
    assert (row.instances, row.not_run, row.solved) == (12, 9, 3)
    assert row.par2_s == pytest.approx((3 * 1 + 9 * 60) / 12)
    assert score(answers(), truths()).row("tool").par2_s is None


def test_what_was_asked_is_the_measure_not_what_came() -> None:
    asked = Asked(GUARDED, {("tool", "1"): 1, ("absent", "3"): 1})
    scores = scored(*answers(names=GUARDED[:3]), asked=asked)
    assert scores.verifiers == ("absent", "tool")
    row = scores.row("tool")
    assert (row.instances, row.not_run, row.solved) == (12, 9, 3)
    assert row.par2_s == pytest.approx((3 * 1 + 9 * 60) / 12)
    absent = scores.row("absent")
    assert (absent.instances, absent.not_run, absent.par2_s) == (12, 12, 60.0)
    ranks = {s.verifier: (s.rank, s.score, len(s.benchmarks)) for s in scores.ranking["float32"]}
    assert ranks == {"tool": (1, 100.0, 2), "absent": (2, 0.0, 2)}
    assert (scores.tasks, scores.not_run) == (24, 21)
    assert scores.incomplete == "21 of 24 tasks were not run; run the same `assay run` again"
    whole = scored(*answers(), asked=Asked(GUARDED, {("tool", "1"): 1}))
    assert (whole.not_run, whole.incomplete) == (0, "")


def test_the_virtual_best_takes_the_fastest() -> None:
    quick = answers(tool="quick", names=GUARDED[:8], wall_s=0.5)
    slow = answers(tool="slow", names=GUARDED[4:], wall_s=2.0)
    scores = scored(*quick, *slow)
    best = scores.row(VIRTUAL_BEST)
    assert (best.solved, best.solved_s, best.not_run) == (12, 8 * 0.5 + 4 * 2.0, 0)
    assert (scores.row("quick").fastest, scores.row("slow").fastest) == (8, 4)
    assert (scores.row("quick").only, scores.row("slow").only) == (4, 4)


class TestRepeats:
    name = "meap-0-violated"

    def repeats(self, *verdicts: tuple[str | None, str]) -> Scores:
        return scored(
            *(
                result(
                    self.name,
                    verdict,
                    ending=ending,
                    repeat=i,
                    wall_s=float(i + 1),
                    witness_class="exact" if verdict == "violated" else None,
                )
                for i, (verdict, ending) in enumerate(verdicts)
            )
        )

    def test_the_majority_counts_and_the_rest_is_flagged(self) -> None:
        right, late = ("violated", "answered"), (None, "timeout")
        row = self.repeats(right, late, right).row("tool")
        assert row.counts == {"falsified": 1}
        assert (row.disagree, row.solved_s) == (1, 1.0)

    def test_no_majority_is_inconsistent(self) -> None:
        scores = self.repeats(("violated", "answered"), (None, "timeout"))
        assert scores.row("tool").counts == {"inconsistent": 1}
        assert scores.ranking["float32"][0].benchmarks[0].points == 0

    def test_one_wrong_proof_is_unsound_whatever_the_others_say(self) -> None:
        right = ("violated", "answered")
        scores = self.repeats(right, right, ("robust", "answered"))
        assert scores.row("tool").counts == {"unsound": 1}
        assert len(scores.unsound) == 1

    def test_missing_repeats_are_not_run_unless_the_outcome_stands(self) -> None:
        def scores(*verdicts: str) -> Scores:
            found = [
                result(self.name, verdict, repeat=i, **right_witness(self.name))
                for i, verdict in enumerate(verdicts)
            ]
            return scored(*found, asked=Asked([self.name], {("tool", "1"): 3}))

        two = scores("violated", "violated")
        assert (two.row("tool").counts, two.row("tool").not_run) == ({"falsified": 1}, 0)
        assert (two.tasks, two.not_run) == (3, 1)
        with pytest.raises(BadInput, match="no results"):
            scores("violated")
        assert scores("robust").row("tool").counts == {"unsound": 1}

    def test_agreement_is_not_flagged(self) -> None:
        row = self.repeats(*[("violated", "answered")] * 3).row("tool")
        assert (row.disagree, row.solved_s, row.instances) == (0, 2.0, 1)


def test_two_versions_of_a_tool_are_two_tools() -> None:
    scores = scored(*answers(), *answers(version="2"))
    assert scores.verifiers == ("tool 1", "tool 2")


class TestWithoutTruth:
    def votes(self, witness_class: str | None = "exact", year: str = "2026") -> Scores:
        return scored(
            result("brought", "robust", verifier="a"),
            result("brought", "robust", verifier="b"),
            result("brought", "violated", verifier="c", witness_class=witness_class),
            result("other", "robust", verifier="a"),
            year=year,
            benchmark="acasxu",
        )

    def test_an_exact_witness_contradicts_the_majority_but_accuses_nobody(self) -> None:
        scores = self.votes()
        assert scores.groups == ("no truth",)
        assert scores.row("a", "no truth").counts == {"contradicted": 1, "says robust": 1}
        assert scores.row("c", "no truth", "acasxu").counts == {"says violated": 1}
        assert not scores.unsound
        (split,) = scores.splits
        assert (split.robust, split.violated, split.proven_violated) == (("a", "b"), ("c",), True)

    def test_a_float32_witness_decides_nothing_here_but_does_in_the_competition(self) -> None:
        scores = self.votes("float32 only")
        assert scores.row("b", "no truth").counts == {"says robust": 1}
        assert not scores.splits[0].proven_violated
        points = {s.verifier: s.benchmarks[0].points for s in scores.ranking["no truth"]}
        assert points == {"a": -140, "b": -150, "c": 10}

    def test_in_2024_no_witness_made_an_unsat_wrong(self) -> None:
        points = {
            s.verifier: s.benchmarks[0].points for s in self.votes(year="2024").ranking["no truth"]
        }
        assert points == {"a": 20, "b": 10, "c": 10}

    def test_a_witness_within_tolerance_is_paid_and_settles_nothing(self) -> None:
        scores = self.votes("within tolerance only")
        points = {s.verifier: s.benchmarks[0].points for s in scores.ranking["no truth"]}
        assert points == {"a": 20, "b": 10, "c": 10}


def test_the_ranking_is_by_per_cent_of_the_best_and_shares_places() -> None:
    scores = scored(
        *answers(tool="a"),
        *answers(tool="b"),
        *answers(tool="half", names=[n for n in GUARDED if "robust" in n]),
    )
    places = [(s.rank, s.verifier, s.score) for s in scores.ranking["float32"]]
    assert places == [(1, "a", 200.0), (1, "b", 200.0), (3, "half", 100.0)]


def test_results_about_other_files_are_refused() -> None:
    with pytest.raises(BadInput, match=r"truth/meap-0-robust\.json; score it against"):
        scored(result("meap-0-robust", "robust", onnx_sha256="0" * 64))
    with pytest.raises(BadInput, match="no results"):
        scored()
    with pytest.raises(BadInput, match="no score of nobody"):
        scored(*answers()).row("nobody")


class TestSignificance:
    def test_a_difference_shows_and_none_does_not(self) -> None:
        names = [f"brought-{i}" for i in range(40)]
        good = [
            result(n, "robust", verifier="good", wall_s=1.0 + i % 3) for i, n in enumerate(names)
        ]
        poor = [
            result(n, "robust" if i % 2 else "unknown", verifier="poor", wall_s=5.0 + i % 7)
            for i, n in enumerate(names)
        ]
        (pair,) = scored(*good, *poor).comparisons["no truth"]
        assert (pair.both, pair.only_first, pair.only_second) == (20, 20, 0)
        assert pair.p_solved == pytest.approx(2 / 2**20)
        assert pair.p_solved_holm == pair.p_solved
        assert pair.p_time is not None
        assert pair.p_time < 1e-3
        assert pair.time_ratio is not None
        assert pair.time_ratio < 0.5
        twin = [
            result(n, "robust", verifier="twin", wall_s=1.0 + i % 3) for i, n in enumerate(names)
        ]
        (same,) = scored(*good, *twin).comparisons["no truth"]
        assert (same.p_solved, same.p_time, same.time_ratio) == (1.0, 1.0, 1.0)

    @given(st.integers(0, 40), st.integers(0, 40))
    def test_the_sign_test_by_its_definition(self, wins: int, losses: int) -> None:
        total = wins + losses
        extreme = abs(wins - losses)
        likely = sum(comb(total, k) for k in range(total + 1) if abs(2 * k - total) >= extreme)
        assert sign_test(wins, losses) == pytest.approx(likely / 2**total)

    def test_the_sign_test_of_many(self) -> None:
        assert sign_test(9_000, 9_000) == 1.0
        assert 0 <= sign_test(0, 100_000) < 1e-300
        assert 1e-30 < sign_test(5_000, 6_000) < 1e-15

    def test_the_signed_rank_test(self) -> None:
        assert signed_rank([0.0, 0.0]) == 1.0
        assert signed_rank([1.0, 2.0, 3.0]) == pytest.approx(0.25)

    @given(st.lists(st.floats(0, 1), max_size=8))
    def test_holm_by_its_definition(self, values: list[float]) -> None:
        corrected = holm(values)
        order = sorted(values)
        for value, result_ in zip(values, corrected, strict=True):
            reach = [min(1.0, (len(order) - i) * v) for i, v in enumerate(order) if v <= value]
            assert result_ == pytest.approx(max(reach))


class TestExports:
    scores = scored(
        *answers("robust", "liar_unsat", witness_class=None),
        *answers("violated", "liar&sat", witness_class="outside box"),
        *answers(tool="{evil}\\"),
        result("edge-0-violated", "robust"),
        result("brought", "robust"),
    )

    def test_json(self) -> None:
        document = json.loads(json.dumps(to_document(self.scores), allow_nan=False))
        assert document["sound"] is False
        assert document["rules"] == "VNN-COMP 2026"
        row = next(r for r in document["rows"] if r["verifier"] == "liar&sat")
        assert sum(row["outcomes"].values()) + row["not_run"] == row["instances"]
        assert set(document["ranking"]) == {"float32", "real", "no truth"}
        assert document["findings"][0]["outcome"] == "unsound"

    def test_csv(self) -> None:
        rows = list(csv.DictReader(io.StringIO(to_csv(self.scores))))
        assert len(rows) == len(self.scores.rows)
        for row in rows:
            counted = sum(int(row[outcome]) for outcome in OUTCOMES) + int(row["not_run"])
            assert row["verifier"] == VIRTUAL_BEST or counted == int(row["instances"])
        total = next(r for r in rows if r["verifier"] == "liar&sat" and r["family"] == "all")
        assert (total["bogus: outside box"], total["unwitnessed: outside box"]) == ("6", "6")

    def test_latex(self) -> None:
        text = to_latex(self.scores)
        assert r"liar\_unsat" in text
        assert r"liar\&sat" in text
        assert r"\{evil\}\textbackslash{}" in text
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 4
        for line in text.splitlines():
            if line.endswith(r"\\") and "evil" in line:
                assert line.count("&") in (5, 15)


def test_many_results_take_little_memory() -> None:
    rng = random.Random(0)
    many = [
        result(
            f"brought-{i}", rng.choice(["robust", "unknown"]), verifier=tool, wall_s=rng.random()
        )
        for i, tool in product(range(4_000), "abcde")
    ]
    tracemalloc.start()
    scores = score(many, {}, {f"brought-{i}": 60.0 for i in range(4_000)})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert scores.row("a", "no truth").instances == 4_000
    # A fifth of the 10^5 results that must fit into 1 GB.
    assert peak < 60e6
