"""The trusted checker: decides whether a claimed answer is a theorem about the bytes on disk.

It stands alone: the standard library, the ONNX protobuf reader and exact integers
(python-flint), nothing else of Assay, no floating point and no solver. Read it in this order:
`arithmetic` (numbers), `vnnlib` and `reader` (the two files; `wire` and `opsets` are what it
insists on), `work` (how much a truth may ask for), `convolution` and `chain` (networks as
alternating affine maps and ReLUs), `interval` and `guard` (exact bounds, float32 error), then
`rules/`, one proof a file, and `checker`, which ties them together. Polynomial networks have
`power`, `monotone` and `univariate`. Attention has a path of its own: `linear_attention` reads it
for a proof in rationals; `balls`, `ball_operators`, `softmax_head` and `ball_network` enclose what
leaves the rationals in Arb balls, which bound their own errors.
"""
