"""The order in which the nodes of a graph can run, and what stands in the way of one."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import onnx

from assay.errors import BadInput


def node_label(node: onnx.NodeProto, index: int) -> str:
    """The name of a node, or one made from its place in the file."""
    return node.name or f"{node.op_type}_{index}"


def ordered(
    nodes: Sequence[onnx.NodeProto], known: set[str], place: str
) -> list[tuple[int, onnx.NodeProto]]:
    """Nodes with their index, each after the makers of its inputs, else in file order."""
    maker: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for output in filter(None, node.output):
            if output in maker or output in known:
                raise BadInput(f"{place}: two tensors are named {output!r}; rename one")
            maker[output] = index
    waits = [0] * len(nodes)
    users: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for name in {i for i in node.input if i and i not in known}:
            if name not in maker:
                label = node_label(node, index)
                raise BadInput(
                    f"{place}: node {label!r} takes {name!r}, which nothing makes; fix the name"
                )
            users[maker[name]].append(index)
            waits[index] += 1
    ready = [index for index, count in enumerate(waits) if count == 0]
    order: list[tuple[int, onnx.NodeProto]] = []
    while ready:
        index = heapq.heappop(ready)
        order.append((index, nodes[index]))
        for user in users[index]:
            waits[user] -= 1
            if waits[user] == 0:
                heapq.heappush(ready, user)
    if len(order) < len(nodes):
        stuck = next(i for i, count in enumerate(waits) if count > 0)
        label = node_label(nodes[stuck], stuck)
        raise BadInput(f"{place}: node {label!r} waits for itself in a cycle; break the cycle")
    return order
