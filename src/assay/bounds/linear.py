"""Linear bounds by backward substitution (CROWN), sound for the real function of the weights.

A linear function of some tensor is carried back node by node to the network's input: through
affine nodes exactly, through others by the lines of `operators.relaxation`, and where there are
none by the range of the node. At the input it is minimised over the box. `backward` bounds the
rounding of every step. The slopes that relaxations leave free and the multipliers of split
conditions can be optimised: any choice is sound, so the best of all that were tried counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from assay.errors import BadInput
from assay.optional_packages import missing_package
from assay.question.network import Network, Node
from assay.question.operators.call import Call

try:
    import torch
    from torch import Tensor
except ImportError:
    raise missing_package("torch") from None

from assay.bounds.ascent import improved
from assay.bounds.backward import AffineLink, Link, OpaqueLink, RelaxedLink, as_tuple
from assay.bounds.forward import Carried, carried_through
from assay.bounds.interval import IntervalNetwork
from assay.bounds.operators.affine import AFFINE, is_affine, with_inputs
from assay.bounds.operators.relaxation import KINKED, RELAXATIONS
from assay.bounds.relaxed_network import RelaxedNetwork
from assay.bounds.rounding import Interval
from assay.bounds.rows import as_rows

_MOST_COEFFICIENTS = 2**23
"""Numbers in one functional while bounds of hidden units are refined; more rows go in turns."""


def linear_margin_bounds(
    network: Network, lower: Tensor, upper: Tensor, coefficients: Tensor, *, steps: int = 0
) -> Tensor:
    """Lower bounds [B, K] of the K linear functions of the outputs, coefficients [K, outputs].

    `steps` of optimisation of the free slopes follow the first bound.
    """
    if coefficients.ndim != 2 or coefficients.shape[1] != network.outputs:
        raise BadInput(
            f"{network.place}: coefficients of shape {list(coefficients.shape)} where "
            f"[K, {network.outputs}] is needed; give one number an output"
        )
    engine = LinearNetwork(network, lower.device)
    relaxed = engine.relaxed(engine.intervals.start(lower, upper))
    wanted = coefficients.to(torch.float64)
    functional = wanted.expand(len(lower), *wanted.shape)
    return improved(relaxed, relaxed.on_outputs(functional), steps=steps, by_row=True).bound


class LinearNetwork:
    """A network ready for backward bounds on many batches of boxes."""

    def __init__(
        self,
        network: Network,
        device: torch.device | None = None,
        *,
        coefficients: int = _MOST_COEFFICIENTS,
    ) -> None:
        """`coefficients` numbers are in one functional at most, if one row has fewer."""
        self.network = network
        self.device = device
        self.coefficients = coefficients
        self.intervals = IntervalNetwork(network, device)
        self._affine = {
            i: self._affine_parts(node)
            for i, node in enumerate(self.intervals.nodes)
            if is_affine(node.op_type, self.intervals.unknown(node))
        }
        self.critical = self._critical()
        """Tensors whose ranges decide how well a nonlinear node is bounded."""

    def relaxed(
        self,
        box: Interval,
        known: Mapping[str, Interval] | None = None,
        *,
        refine: bool = True,
        steps: int = 0,
        until: float = math.inf,
        moving: Tensor | None = None,
    ) -> RelaxedNetwork:
        """Lines around every nonlinear node on each box of a batch.

        `known` holds ranges that are proved or assumed by name. `refine` bounds the critical
        tensors by backward substitution too, with `steps` of optimisation, as long as the
        monotonic clock has not reached `until`. If only a few inputs differ within the boxes,
        their flat indices `moving` save the backward substitution where lines carried forward
        are as good.
        """
        nodes = len(self.intervals.nodes)
        links: list[Link] = []
        values: dict[str, Interval] = {self.network.input_name: box}
        empty = torch.zeros(len(box.low), dtype=torch.bool, device=box.low.device)
        carried: dict[str, Carried] = {}
        if moving is not None:
            carried[self.network.input_name] = Carried.inputs(box, moving)

        def so_far() -> RelaxedNetwork:
            constants = self.intervals.constants
            return RelaxedNetwork(self.network, values, constants, links, empty, nodes, carried)

        with torch.no_grad():
            for index, node in enumerate(self.intervals.nodes):
                for name, found in self.intervals.results(node, values).items():
                    result = found
                    if known is not None and name in known:
                        result = result.within(known[name])
                        crossed = as_rows(result.low > result.high).any(1)
                        empty = empty | crossed
                        result = Interval(torch.minimum(result.low, result.high), result.high)
                    values[name] = result
                links.append(self._link(index, node, values))
                if carried:
                    carried |= carried_through(links[-1], carried, self.intervals.constants)
                for name in node.outputs:
                    if name in carried and name in self.critical:
                        values[name] = values[name].within(carried[name].range())
                    elif refine and name in self.critical:
                        values[name] = self._refined(so_far(), name, steps, until)
        return so_far()

    def _refined(self, relaxed: RelaxedNetwork, name: str, steps: int, until: float) -> Interval:
        plain = relaxed.values[name]
        boxes = len(relaxed.empty)
        ends = (plain.low, plain.high)
        low, high = (as_rows(end.expand(boxes, *end.shape[1:])) for end in ends)
        wanted = torch.ones_like(low[0], dtype=torch.bool)
        if self.critical[name]:
            wanted = ((low < 0) & (high > 0)).any(0)
        units = wanted.nonzero().flatten()
        widest = max(math.prod(x.low.shape[1:]) for x in relaxed.values.values())
        turn = max(1, self.coefficients // (2 * boxes * widest))
        low, high = low.clone(), high.clone()
        for chunk in torch.split(units, turn) if len(units) else ():
            if time.monotonic() >= until:
                break
            rows = torch.zeros(2 * len(chunk), low.shape[1], dtype=low.dtype, device=low.device)
            rows[torch.arange(len(chunk)), chunk] = 1.0
            rows[torch.arange(len(chunk), 2 * len(chunk)), chunk] = -1.0
            functional = rows.reshape(1, len(rows), *plain.low.shape[1:])
            functional = functional.expand(boxes, *functional.shape[1:])
            found = improved(
                relaxed, {name: functional}, steps=steps, by_row=True, until=until
            ).bound
            low[:, chunk] = torch.maximum(low[:, chunk], found[:, : len(chunk)])
            high[:, chunk] = torch.minimum(high[:, chunk], -found[:, len(chunk) :])
        shape = (boxes, *plain.low.shape[1:])
        # A box without inputs may have crossed ends; they must not reach the relaxations.
        return Interval(torch.minimum(low, high).reshape(shape), high.reshape(shape))

    def _link(self, index: int, node: Node, values: Mapping[str, Interval]) -> Link:
        nodes = len(self.intervals.nodes)
        if index in self._affine:
            constants, variable, offsets = self._affine[index]
            inputs = {**self.intervals.constants, **values}
            rule = AFFINE[node.op_type]
            return AffineLink.of(rule, constants, variable, offsets, inputs, nodes)
        call = self.intervals.call(node, values)
        if node.op_type in RELAXATIONS:
            relaxation = RELAXATIONS[node.op_type](call)
            if relaxation is not None:
                return RelaxedLink.of(node, relaxation, call.value(0), nodes)
        return OpaqueLink(node, tuple(values[name] for name in node.outputs if name), nodes)

    def _affine_parts(
        self, node: Node
    ) -> tuple[Call[Tensor], tuple[int, ...], tuple[Tensor | None, ...]]:
        variable = self.intervals.unknown(node)
        known = self.intervals.constants
        inputs = tuple(
            known[name].low if name in known and i not in variable else None
            for i, name in enumerate(node.inputs)
        )
        constants = Call(self.network, node, inputs)
        zeros = [
            torch.zeros(1, *constants.input_shape(i), dtype=torch.float64, device=self.device)
            for i in variable
        ]
        rule = AFFINE[node.op_type]
        offsets = as_tuple(rule.apply(with_inputs(constants, variable, zeros)))
        return (
            constants,
            variable,
            tuple(offset if bool(offset.any()) else None for offset in offsets),
        )

    def _critical(self) -> dict[str, bool]:
        """Inputs of nonlinear nodes, and whether only a kink at zero makes them so.

        What an affine node makes of the network's input alone is exact by intervals already.
        """
        found: dict[str, bool] = {}
        simple = {self.network.input_name}
        for i, node in enumerate(self.intervals.nodes):
            read = {node.inputs[j] for j in self.intervals.unknown(node)}
            if i in self._affine:
                if read == {self.network.input_name}:
                    simple.update(node.outputs)
                continue
            for name in read - simple:
                found[name] = found.get(name, True) and node.op_type in KINKED
        return found
