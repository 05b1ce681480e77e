"""Which structure a graph has, among those that are evaluated in rationals."""

from __future__ import annotations

from assay.proof.chain import Chain, read_chain
from assay.proof.power import PowerNetwork, is_power, read_power_network
from assay.proof.reader import Graph
from assay.proof.residual import ResidualNetwork, is_skip, read_residual_network

Network = Chain | PowerNetwork | ResidualNetwork


def read_network(graph: Graph) -> Network:
    """The structure of a graph, or Unsupported naming the node that fits none."""
    if any(map(is_power, graph.nodes)):
        return read_power_network(graph)
    if any(is_skip(node, graph) for node in graph.nodes):
        return read_residual_network(graph)
    return read_chain(graph)
