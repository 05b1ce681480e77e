"""Families along their knobs, and lists without knobs in their own order."""

from __future__ import annotations

from profiled_points import point

from assay.difficulty.trajectories import knobs_of, trajectories


def test_knobs_are_scalars_and_flat_lists_of_numbers() -> None:
    parameters = {
        "hidden": [20, 20],
        "gamma": 1e-5,
        "pairs": 2,
        "negated": True,
        "mixing": "rows",
        "window": None,
        "nested": {"a": 1},
        "names": ["a"],
        "none": [],
    }
    assert knobs_of(parameters) == {
        "hidden": "20x20",
        "gamma": 1e-5,
        "pairs": 2.0,
        "negated": "yes",
        "mixing": "rows",
    }


def test_every_knob_that_turns_the_clearest_first() -> None:
    points = [
        point(
            f"i{k}",
            "meap",
            {"pairs": pairs, "gamma": gamma, "mixing": "rows", "inputs": 9.0},
            G_IBP=10 * pairs,
        )
        for k, (pairs, gamma) in enumerate(
            [(32.0, 1.0), (2.0, 1.0), (32.0, 0.1), (2.0, 0.1), (8.0, 1.0)]
        )
    ]
    found = trajectories(points, "bench")
    assert [(t.family, t.knob) for t in found] == [("meap", "pairs"), ("meap", "gamma")]
    assert found[0].steps == (2.0, 2.0, 8.0, 32.0, 32.0)
    assert found[0].instances == ("i1", "i3", "i4", "i0", "i2")
    assert found[1].instances == ("i2", "i3", "i0", "i1", "i4")


def test_widths_are_ordered_as_numbers_and_words_not_at_all() -> None:
    points = [
        point(f"i{k}", "net", {"hidden": hidden, "head": head})
        for k, (hidden, head) in enumerate([("100x5", "a"), ("20x20", "b"), ("5x50", "c")])
    ]
    (found,) = trajectories(points, "bench")
    assert (found.knob, found.steps) == ("hidden", ("5x50", "20x20", "100x5"))


def test_a_family_of_two_or_a_knob_that_some_lack_makes_none() -> None:
    assert trajectories([point("a", "f", {"k": 1.0}), point("b", "f", {"k": 2.0})], "bench") == ()
    lacking = [point(f"i{n}", "f", {"k": float(n)} if n else {"other": 1.0}) for n in range(3)]
    assert trajectories(lacking, "bench") == ()


def test_without_truths_all_in_list_order_then_each_network() -> None:
    points = [point(f"i{n}", f"net-{n // 3}") for n in (3, 0, 4, 1, 5, 2, 6)]
    found = trajectories(points, "bench")
    assert [(t.family, t.knob) for t in found] == [
        ("bench", None),
        ("net-1", None),
        ("net-0", None),
    ]
    assert found[0].instances == ("i3", "i0", "i4", "i1", "i5", "i2", "i6")
    assert found[1].instances == ("i3", "i4", "i5")
    assert found[1].steps == (1.0, 2.0, 3.0)


def test_one_network_is_not_told_twice() -> None:
    points = [point(f"i{n}", "net") for n in range(4)]
    assert [t.family for t in trajectories(points, "bench")] == ["bench"]
