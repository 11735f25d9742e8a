"""R-Net's attention: a GRU over the passage that attends to the question before each step."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fabir.layers.fusion import Fusion, Gate, fast_tanh_, matching_additive_
from fabir.layers.masking import mask_bias
from fabir.layers.recurrent import reorder, reversed_order


class RecurrentAttention(Fusion):
    """Anderson 2019, eq. 6: an attending GRU from left to right, and one from right to left.

    Args:
        dim: features of both texts
        hidden: features of each direction
        gated: add a gate to the input of the GRU
    """

    def __init__(self, dim: int, hidden: int, gated: bool) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.forwards = AttentiveGru(dim, hidden, gated)
        self.backwards = AttentiveGru(dim, hidden, gated)

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Shape: see `Fusion`; zeros at padding."""
        order = reversed_order(passage_mask)
        turned = reorder(passage, order)
        if torch.is_grad_enabled():
            ways, passages = (self.forwards, self.backwards), torch.stack([passage, turned])
            right, left = _attend(ways, passages, question, question_mask)
        else:  # one after the other, so that `fabir.explain` knows whose weights it records
            right = self.forwards(passage, question, question_mask)
            left = self.backwards(turned, question, question_mask)
        return torch.cat([right, reorder(left, order)], dim=2) * passage_mask


class AttentiveGru(nn.Module):
    """One direction: `v_t = GRU(v_(t-1), gate([p_t; att(question, [p_t; v_(t-1)])]))`.

    `passage` has a bias for matching initialisation; eq. 3 has none.

    Shape:
        passage: [batch, passage, dim]
        question: [batch, question, dim], its mask [batch, question, 1]
        result: [batch, passage, hidden]

    Raises:
        RuntimeError: torch traces it for a graph, which would have the steps of one length only.
    """

    def __init__(self, dim: int, hidden: int, gated: bool) -> None:
        super().__init__()
        self.words = nn.Linear(dim, hidden, bias=False)
        self.passage = nn.Linear(dim, hidden)
        self.state = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.gate = Gate(2 * dim) if gated else None
        self.cell = nn.GRUCell(2 * dim, hidden)
        matching_additive_(self.words, self.passage, self.v)

    def reset_random(self) -> None:
        for linear in (self.words, self.passage, self.v):
            linear.reset_parameters()
        nn.init.zeros_(self.passage.bias)

    def forward(self, passage: Tensor, question: Tensor, question_mask: Tensor) -> Tensor:
        return _attend([self], passage[None], question, question_mask)[0]

    def weights(self) -> list[Tensor]:
        """The weights of a step: of the state and its match, of the GRU, and of any gate."""
        gate = [] if self.gate is None else [self.gate.linear.weight]
        return [self.state.weight, self.v.weight, *self.cell.parameters(), *gate]


def _attend(
    directions: Sequence[AttentiveGru], passages: Tensor, question: Tensor, question_mask: Tensor
) -> Tensor:
    """All directions at once, since a step has many small products.

    Shape:
        passages: [directions, batch, passage, dim]
        result: [directions, batch, passage, hidden]
    """
    if torch.compiler.is_compiling():
        raise RuntimeError("it attends word by word: a graph would take one length of passage")
    attending = [each.passage(text) for each, text in zip(directions, passages, strict=True)]
    prepared = [each.words(question) for each in directions]
    texts = passages, question, torch.stack(attending), torch.stack(prepared)
    weights = [torch.stack(alike) for alike in zip(*(d.weights() for d in directions), strict=True)]
    exact = [text.to(weights[0]) for text in texts]
    bias = mask_bias(question_mask, exact[0].dtype)[:, 0]
    with torch.autocast(passages.device.type, enabled=False):
        return _Steps.apply(*exact, bias, *weights)  # pyright: ignore[reportReturnType]


class _Steps(torch.autograd.Function):
    """All steps of `AttentiveGru`s, and their gradient. They are in the weights' precision, also
    under autocast.

    The backward pass computes step by step only what the previous step needs. All else is computed
    for all steps together, before or after.
    """

    @staticmethod
    def forward(
        ctx: Any,
        passages: Tensor,
        question: Tensor,
        attending: Tensor,
        prepared: Tensor,
        bias: Tensor,
        from_state: Tensor,
        v: Tensor,
        w_in: Tensor,
        w_state: Tensor,
        b_in: Tensor,
        b_state: Tensor,
        gate: Tensor | None = None,
    ) -> Tensor:
        ways, batch, steps, dim = passages.shape
        hidden = from_state.shape[1]
        queries = attending.permute(2, 0, 1, 3)
        read = passages.new_empty(steps, ways, batch, 2 * dim)  # inputs of the gate
        gates = torch.empty_like(read if gate is not None else read[:0])
        choices = passages.new_empty(steps, ways, batch, 2 * hidden)  # r and u
        memories = passages.new_empty(steps, ways, batch, 3 * hidden)  # what the state adds
        news = passages.new_empty(steps, ways, batch, hidden)
        states = passages.new_zeros(steps + 1, ways, batch, hidden)
        weights = passages.new_empty(steps, ways, batch, question.shape[1])
        read[..., :dim] = passages.permute(2, 0, 1, 3)
        to_v, rows = v.mT, (ways, -1, hidden)
        b_in, b_state = b_in[:, None], b_state[:, None]
        for t in range(steps):
            state = states[t]
            query = torch.baddbmm(queries[t], state, from_state.mT)
            together = fast_tanh_(prepared + query[:, :, None])
            logits = torch.bmm(together.view(rows), to_v).view(weights[t].shape)
            torch.softmax(logits.add_(bias), dim=2, out=weights[t])
            attended = torch.bmm(weights[t].transpose(0, 1), question)
            read[t, :, :, dim:] = attended.transpose(0, 1)
            given = read[t]
            if gate is not None:
                torch.sigmoid(torch.bmm(given, gate.mT), out=gates[t])
                given = given * gates[t]
            inputs = torch.baddbmm(b_in, given, w_in.mT)
            memory = torch.baddbmm(b_state, state, w_state.mT, out=memories[t])
            both = inputs[:, :, : 2 * hidden] + memory[:, :, : 2 * hidden]
            torch.sigmoid(both, out=choices[t])
            r, u = choices[t].chunk(2, dim=2)
            new = torch.addcmul(inputs[:, :, 2 * hidden :], r, memory[:, :, 2 * hidden :])
            torch.lerp(torch.tanh(new, out=news[t]), state, u, out=states[t + 1])
        ctx.save_for_backward(
            question, attending, prepared, from_state, v, gate, w_in, w_state,
            read, gates, choices, memories, news, states, weights,
        )  # fmt: skip
        return states[1:].permute(1, 2, 0, 3)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (question, attending, prepared, from_state, v, gate, w_in, w_state,
         read, gates, choices, memories, news, states, weights) = ctx.saved_tensors  # fmt: skip
        steps, ways, batch, two = read.shape
        dim, hidden = two // 2, from_state.shape[1]
        before = states[:-1]
        above = gradients[0].permute(2, 0, 1, 3)
        queries = torch.matmul(before, from_state.mT) + attending.permute(2, 0, 1, 3)
        # What the gradient of a state is multiplied with for that of the GRU's three inputs.
        (r, u), of_r = choices.chunk(2, dim=3), memories[..., 2 * hidden :]
        to_new = (1 - u) * (1 - news * news)
        to_u = (before - news) * u * (1 - u)
        to_r = to_new * of_r * r * (1 - r)
        to_inputs = torch.stack([to_r, to_u, to_new], dim=3)
        to_memory = torch.stack([to_r, to_u, to_new * r], dim=3)
        to_gates = read * gates * (1 - gates) if gate is not None else gates
        d_inputs, d_memory = torch.empty_like(to_inputs), torch.empty_like(to_memory)
        d_queries, d_read = torch.empty_like(queries), torch.empty_like(read)
        d_gates = torch.empty_like(gates)
        d_prepared, d_v = torch.zeros_like(prepared), torch.zeros_like(v)
        d_state = read.new_zeros(ways, batch, hidden)
        matched, rows = v[:, None], (ways, -1, hidden)
        for t in reversed(range(steps)):
            d_state = d_state + above[t]
            torch.mul(d_state[:, :, None], to_inputs[t], out=d_inputs[t])
            torch.mul(d_state[:, :, None], to_memory[t], out=d_memory[t])
            d_state = (d_state * u[t]).baddbmm_(d_memory[t].flatten(2), w_state)
            if gate is None:
                d_given = torch.bmm(d_inputs[t].flatten(2), w_in, out=d_read[t])
            else:
                d_given = torch.bmm(d_inputs[t].flatten(2), w_in)
                torch.mul(d_given, to_gates[t], out=d_gates[t])
                torch.mul(d_given, gates[t], out=d_read[t])
                d_given = d_read[t].baddbmm_(d_gates[t], gate)
            d_weights = torch.bmm(d_given[:, :, dim:].transpose(0, 1), question.mT)
            d_logits = torch.ops.aten._softmax_backward_data(
                d_weights.transpose(0, 1), weights[t], 2, read.dtype
            )
            together = fast_tanh_(prepared + queries[t, :, :, None])
            d_v.baddbmm_(d_logits.reshape(ways, 1, -1), together.view(rows))
            d_together = torch.ops.aten.tanh_backward(d_logits[..., None] * matched, together)
            d_prepared += d_together
            torch.sum(d_together, dim=2, out=d_queries[t])
            d_state.baddbmm_(d_queries[t], from_state)
        d_question = torch.bmm(
            weights.permute(2, 3, 0, 1).flatten(2),
            d_read[..., dim:].permute(2, 0, 1, 3).flatten(1, 2),
        )

        def over_steps(left: Tensor, right: Tensor) -> Tensor:
            """The sum of [steps, ways, batch, m] times [steps, ways, batch, n]: [ways, m, n]."""
            left, right = (each.transpose(0, 1).flatten(1, 2) for each in (left, right))
            return torch.bmm(left.mT, right)

        given, d_gate = read, None
        if gate is not None:
            d_gate, given = over_steps(d_gates, read), read * gates
        d_inputs, d_memory = d_inputs.flatten(3), d_memory.flatten(3)
        return (
            d_read[..., :dim].permute(1, 2, 0, 3),
            d_question,
            d_queries.permute(1, 2, 0, 3),
            d_prepared,
            None,
            over_steps(d_queries, before),
            d_v,
            over_steps(d_inputs, given),
            over_steps(d_memory, before),
            d_inputs.sum(dim=(0, 2)),
            d_memory.sum(dim=(0, 2)),
            d_gate,
        )
