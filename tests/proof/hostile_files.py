"""Files that ask for more than they look like: small on disk, and hours or gigabytes if obeyed.

`HOSTILE` maps a name to what makes the claim; those that are made and answered soon are `QUICK`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hostile_builders import (
    BELOW,
    KINDS,
    asking,
    attention,
    changed,
    claim,
    corners,
    crossed,
    filtered,
    followed_by,
    gates,
    genuine,
    graded,
    hinged,
    idle_nodes,
    large_weight,
    leaves,
    linear_attention,
    long_weights,
    many_constants,
    many_integers,
    many_outputs,
    odd_denominators,
    polynomial,
    pooled,
    repeated,
    residual,
    same_kernel,
    same_layer,
    smooth,
    staircase,
    stating,
    thin,
    tiny_bounds,
    tree,
)
from small_claims import Claimed

Made = Callable[[], Claimed]
MANY = 100_000
LONG = "1e-999"
QUICK: dict[str, Made] = {
    "10,001 nodes": partial(changed, idle_nodes(10_001)),
    "600,000 fields": partial(followed_by, b"\x72\x00" * 600_000),
    "a long list of integers": partial(changed, many_integers(200_000)),
    "nested messages": partial(followed_by, b"\x3a\x00"),
    "20,000 constants": partial(changed, many_constants(20_000)),
    "a weight of 40 MB": partial(changed, large_weight(10_000_000, "raw_data")),
    "an unused list in a truth": partial(stating, parameters={"a": [0] * 300_000}),
    "a deep truth": partial(stating, facts={"a": "[" * 1000}),
    "a margin of 4,000 digits": partial(stating, margin="9" * 4000 + "/" + "7" * 4000),
    "a margin of 9,000 digits": partial(stating, margin="9" * 9000),
    "nested parentheses": partial(asking, "(" * 500_000),
    "a sum of 100,000 words": partial(asking, f"(assert (<= (+ {'1 ' * 100_000}) Y_0))"),
    "ors of ors": partial(asking, f"(assert (and {'(or (<= Y_0 0) (<= Y_1 0)) ' * 40}))"),
    "different ors of ors": partial(
        asking,
        f"(assert (and {' '.join(f'(or (<= Y_0 -{i}) (<= Y_1 -{i}))' for i in range(40))}))",
    ),
    "a product of long numbers": partial(
        asking, f"(assert (<= Y_0 {'(* 1e-999 ' * 45} Y_1{')' * 45}))"
    ),
    "numbers without a common denominator": partial(odd_denominators, 60, 600),
    "a kernel in 4,000 convolutions": partial(same_kernel, 3, 4000, 1, "contractive_cnn"),
    "a layer in 4,999 nodes": partial(same_layer, 1, 4999, "contractive_cnn"),
    "tokens": partial(linear_attention, 1200, 1, BELOW),
    "a hundred heads": partial(attention, 2, 1, BELOW, heads=60),
    "long weights in balls": partial(long_weights, 2, 2, "softmax_attention"),
    "windows of 25 inputs": partial(corners, 4, 25),
    "a pool of a large image": partial(pooled, 80, "contractive_cnn"),
    "more blocks than are read": partial(residual, 1, 300),
    "a disjunct of attention repeated 20,000 times": partial(
        attention, 16, 8, repeated("(<= Y_0 0)", 20_000)
    ),
    "a 31x31 kernel in 400 convolutions": partial(same_kernel, 31, 400, 1, "contractive_cnn"),
    "256 units in 4,000 nodes": partial(same_layer, 256, 4000, "paired_bias"),
}
HOSTILE: dict[str, Made] = {
    **QUICK,
    **{
        f"a disjunct repeated 100,000 times: {kind}": partial(
            asking, repeated("(<= Y_0 0)", MANY), kind=kind
        )
        for kind in ("contractive_cnn", "planted", "softmax_attention", "witness")
    },
    "a large image": partial(filtered, 400, 60, "contractive_cnn"),
    "too many words": partial(asking, f"(assert (<= (+ {'1 ' * 4_200_000}) Y_0))"),
    "100,000 constants": partial(changed, many_constants(MANY)),
    "a sum of a million words": partial(asking, f"(assert (<= (+ {'1 ' * 1_000_000}) Y_0))"),
    **{
        f"{width} units in {depth} nodes: {kind}": partial(same_layer, width, depth, kind)
        for kind in (*KINDS, "witness", "softmax_attention")
        for width, depth in ((8, 4000), (100, 240))
    },
    **{
        f"{side}x{side} kernels in {depth} nodes over {image}x{image}: {kind}": partial(
            same_kernel, side, depth, image, kind
        )
        for kind in ("contractive_cnn", "witness")
        for side, depth, image in ((31, 300, 2), (11, 1000, 4), (3, 4000, 8), (5, 60, 60))
    },
    **{
        f"float32 guard of {depth} layers: {kind}": partial(
            same_layer, 40, depth, kind, guard="float32"
        )
        for kind in ("contractive_cnn", "witness")
        for depth in (30, 400)
    },
    "float32 guard of 2,000 convolutions": partial(
        same_kernel, 5, 2000, 3, "witness", guard="float32"
    ),
    **{
        f"{count} different disjuncts: {kind}": partial(many_outputs, kind, 2, count)
        for kind in (*KINDS, "softmax_attention", "witness")
        for count in (20_000,)
    },
    **{
        f"a disjunct repeated: {name}": partial(genuine, name, repeated("(<= Y_0 Y_1)", MANY))
        for name in ("polynomial", "linear_attention", "smooth_pairs", "paired_bias")
    },
    **{
        f"20,000 different disjuncts: {name}": partial(genuine, name, graded(20_000))
        for name in ("polynomial", "linear_attention", "smooth_pairs", "residual")
    },
    "attention, repeated": partial(attention, 16, 8, repeated("(<= Y_0 0)", MANY)),
    "attention, different disjuncts": partial(attention, 16, 8, graded(20_000)),
    "attention over 128 tokens": partial(attention, 128, 16, BELOW),
    "attention in 16 heads": partial(attention, 48, 8, BELOW, heads=16),
    "linear attention over 500 tokens": partial(linear_attention, 500, 4, BELOW),
    "linear attention, different disjuncts": partial(linear_attention, 40, 4, graded(20_000)),
    **{
        f"crossed disjunctions of {count} and {length} layers": partial(crossed, count, length)
        for count, length in ((100, 100), (360, 300), (700, 300))
    },
    **{
        f"degree {degree} of {hidden} units of {inputs} inputs": partial(
            polynomial, inputs, hidden, degree, BELOW
        )
        for inputs, hidden, degree in ((300, 700, 3), (2, 4000, 64), (60, 1000, 33), (500, 200, 9))
    },
    "a polynomial with 300 outputs": partial(
        polynomial, 50, 100, 9, graded(20_000, 300), outputs=300
    ),
    **{
        f"{inputs} bounds of {digits} digits": partial(tiny_bounds, inputs, digits)
        for inputs, digits in ((60_000, 999), (100_000, 300))
    },
    "a witness in 60,000 long bounds": partial(tiny_bounds, 60_000, 999, "witness"),
    "300 odd denominators": partial(odd_denominators, 300, 60),
    **{
        f"residual blocks: {blocks} of width {width}": partial(residual, width, blocks)
        for width, blocks in ((100, 256), (180, 1), (40, 256))
    },
    "residual blocks under guard": partial(residual, 30, 256, guard="float32"),
    **{
        f"{hinges} hinges of {width} inputs": partial(corners, hinges, width)
        for hinges, width in ((2000, 12), (60, 18), (8, 20))
    },
    "gates over corners": partial(gates, 40, 14, 60),
    "an array of 60 MB": partial(tree, 15_000_000, "relu_tree"),
    "an array of 60 MB for a polynomial": partial(tree, 15_000_000, "polynomial"),
    "an array of 80 MB": partial(tree, 20_000_000, "relu_tree"),
    "20,000 small trees": partial(leaves, 30, 20_000),
    **{
        f"{depth} sigmoid layers of {width}: {kind}": partial(smooth, width, depth, BELOW, kind)
        for kind in ("softmax_attention", "smooth_pairs", "planted")
        for width, depth in ((40, 60), (200, 8))
    },
    "a pool in balls": partial(pooled, 60, "softmax_attention"),
    "filters in balls": partial(filtered, 60, 30, "softmax_attention"),
    "filters under norms": partial(filtered, 60, 30, "contractive_cnn"),
    **{
        f"a rotated box of {inputs} inputs": partial(hinged, inputs, witness)
        for inputs, witness in ((60, True), (200, True), (300, False))
    },
    **{
        f"staircases: {inputs} of {steps}": partial(staircase, inputs, steps)
        for inputs, steps in ((6, 30), (40, 4), (200, 2))
    },
    **{
        f"long weights, {rows} by {columns}: {kind}": partial(long_weights, rows, columns, kind)
        for kind in ("contractive_cnn", "planted")
        for rows, columns in ((1000, 1000), (50, 4000))
    },
    "numbers of a thousand digits": partial(
        asking, f"(assert (<= (+ {f'{LONG} ' * 400_000}) Y_0))"
    ),
    "a weight of 100 MB": partial(changed, large_weight(25_000_000, "raw_data")),
    "a weight of 60 MB as floats": partial(changed, large_weight(15_000_000, "float_data")),
    "100,000 inputs": lambda: claim(thin(MANY), MANY, "contractive_cnn"),
}
