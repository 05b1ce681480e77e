"""Ways to spoil the arrays of a `relu_tree` certificate; see `mutators`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import onnx
from mutators import Mutant, mutator, signed
from small_claims import Claimed


@dataclass(frozen=True)
class Arrays:
    """The words of a relu_tree certificate, taken apart: tightenings, then (tree, leaves)."""

    tightenings: list[list[int]]
    trees: list[tuple[list[int], list[list[int]]]]

    @classmethod
    def of(cls, claim: Claimed) -> Arrays:
        assert claim.arrays is not None
        words = list(struct.unpack(f"<{len(claim.arrays) // 4}i", claim.arrays))
        sizes = hidden_sizes(claim)
        position = 1

        def take(count: int) -> list[int]:
            nonlocal position
            position += count
            return words[position - count : position]

        tightenings = []
        for _ in range(words[0]):
            head = take(3)
            tightenings.append(head + take(1 + sum(sizes[: head[0]])))
        trees = []
        while position < len(words):
            tree = take(*take(1))
            trees.append((tree, [take(1 + sum(sizes)) for _ in range(tree.count(-1))]))
        return cls(tightenings, trees)

    def packed(self) -> bytes:
        words = [len(self.tightenings), *(w for step in self.tightenings for w in step)]
        for tree, leaves in self.trees:
            words += [len(tree), *tree, *(w for leaf in leaves for w in leaf)]
        return struct.pack(f"<{len(words)}i", *words)


def hidden_sizes(claim: Claimed) -> list[int]:
    graph = onnx.ModelProto.FromString(claim.onnx).graph
    biases = [t.dims[0] for t in graph.initializer if len(t.dims) == 1]
    return biases[:-1]


@mutator
def word_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    if claim.arrays is None:
        return None
    at = 4 * draw.randrange(len(claim.arrays) // 4)
    (word,) = struct.unpack_from("<i", claim.arrays, at)
    changed = draw.choice([word + 1, word - 1, -word, ~word, 0, word * 2, draw.getrandbits(31), -1])
    if changed == word or not -(2**31) <= changed < 2**31:
        return None
    arrays = claim.arrays[:at] + struct.pack("<i", changed) + claim.arrays[at + 4 :]
    return signed(replace(claim, arrays=arrays))


@mutator
def arrays_cut_or_grown(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    if claim.arrays is None:
        return None
    count = draw.randrange(1, 9)
    chosen = draw.choice(
        [claim.arrays[:-count], claim.arrays[count:], claim.arrays + bytes(count), None]
    )
    broken = chosen is None or not claim.arrays[4:].startswith(chosen)
    return Mutant(replace(claim, arrays=chosen).signed(), broken=broken)


@mutator
def leaf_dropped(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """A leaf and its multipliers are gone, the counts put right: a part of the box is left out."""
    if claim.arrays is None:
        return None
    arrays = Arrays.of(claim)
    tree, leaves = draw.choice(arrays.trees)
    at = draw.randrange(len(leaves))
    places = [i for i, word in enumerate(tree) if word == -1]
    del tree[places[at]], leaves[at]
    return Mutant(replace(claim, arrays=arrays.packed()).signed(), broken=True)


@mutator
def leaf_added(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    if claim.arrays is None:
        return None
    arrays = Arrays.of(claim)
    tree, leaves = draw.choice(arrays.trees)
    at = draw.randrange(len(leaves) + 1)
    places = [*(i for i, word in enumerate(tree) if word == -1), len(tree)]
    tree.insert(places[at], -1)
    leaves.insert(at, list(draw.choice(leaves)))
    return Mutant(replace(claim, arrays=arrays.packed()).signed(), broken=True)


@mutator
def split_forgotten(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """A split becomes its first half: a leaf whose multipliers were made for less."""
    if claim.arrays is None:
        return None
    arrays = Arrays.of(claim)
    choices = [
        (t, i)
        for t, (tree, _) in enumerate(arrays.trees)
        for i, word in enumerate(tree)
        if word >= 0 and tree[i + 1 : i + 3] == [-1, -1]
    ]
    if not choices:
        return None
    t, i = draw.choice(choices)
    tree, leaves = arrays.trees[t]
    first = tree[:i].count(-1)
    del leaves[first + draw.randrange(2)]
    tree[i : i + 3] = [-1]
    return signed(replace(claim, arrays=arrays.packed()))


@mutator
def split_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    if claim.arrays is None:
        return None
    arrays = Arrays.of(claim)
    choices = [
        (t, i) for t, (tree, _) in enumerate(arrays.trees) for i, w in enumerate(tree) if w >= 0
    ]
    if not choices:
        return None
    t, i = draw.choice(choices)
    tree = arrays.trees[t][0]
    tree[i] = draw.choice([w for w in range(sum(hidden_sizes(claim)) + 1) if w != tree[i]])
    return signed(replace(claim, arrays=arrays.packed()))


@mutator
def trees_or_steps_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    if claim.arrays is None:
        return None
    arrays = Arrays.of(claim)
    before = arrays.packed()
    broken = False
    choice = draw.randrange(4)
    if choice == 0:
        arrays.trees.reverse()
    elif choice == 1:
        del arrays.trees[draw.randrange(len(arrays.trees))]
        broken = True
    elif choice == 2:
        arrays.trees.append(draw.choice(arrays.trees))
        broken = True
    elif arrays.tightenings:
        step = draw.choice(arrays.tightenings)
        if draw.random() < 0.5:
            arrays.tightenings.remove(step)
        else:
            step[2] = 1 - step[2]
    after = arrays.packed()
    return None if after == before else Mutant(replace(claim, arrays=after).signed(), broken)


ON_TREES = {
    "word_changed",
    "arrays_cut_or_grown",
    "leaf_dropped",
    "leaf_added",
    "split_forgotten",
    "split_changed",
    "trees_or_steps_changed",
}
"""Mutators of a certificate's arrays, which few claims have."""
