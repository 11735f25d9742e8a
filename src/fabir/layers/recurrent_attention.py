"""R-Net's attention: a GRU over the passage that attends to the question before each step."""

from typing import Any

import torch
from torch import Tensor, nn

from fabir.layers.fusion import Fusion, Gate, matching_additive_
from fabir.layers.masking import masked_softmax
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
        right = self.forwards(passage, question, question_mask)
        left = self.backwards(reorder(passage, order), question, question_mask)
        return torch.cat([right, reorder(left, order)], dim=2) * passage_mask


class AttentiveGru(nn.Module):
    """One direction: `v_t = GRU(v_(t-1), gate([p_t; att(question, [p_t; v_(t-1)])]))`.

    `passage` has a bias for matching initialisation; eq. 3 has none.

    It has many small products. The steps are in the weights' precision, also under autocast.
    `_Steps` has a gradient written by hand: it postpones all products with weights to one at the
    end.

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
        if torch.compiler.is_compiling():
            raise RuntimeError("it attends word by word: a graph would take one length of passage")
        gate = None if self.gate is None else self.gate.linear.weight
        attending, prepared = self.passage(passage), self.words(question)
        texts = (text.to(self.v.weight) for text in (passage, question, attending, prepared))
        weights = self.state.weight, self.v.weight, gate, *self.cell.parameters()
        with torch.autocast(passage.device.type, enabled=False):
            return _Steps.apply(*texts, question_mask, *weights)  # pyright: ignore


class _Steps(torch.autograd.Function):
    """All steps of an `AttentiveGru`, and their gradient.

    The backward pass computes step by step only what the previous step needs. It keeps the inputs
    and gradients of each step, and multiplies them at the end for all steps together.
    """

    @staticmethod
    def forward(
        ctx: Any,
        passage: Tensor,
        question: Tensor,
        attending: Tensor,
        prepared: Tensor,
        question_mask: Tensor,
        from_state: Tensor,
        v: Tensor,
        gate: Tensor | None,
        w_in: Tensor,
        w_state: Tensor,
        b_in: Tensor,
        b_state: Tensor,
    ) -> Tensor:
        steps, (batch, dim) = passage.shape[1], passage[:, 0].shape
        hidden = len(from_state)
        texts, queries = passage.transpose(0, 1), attending.transpose(0, 1)
        read = passage.new_empty(steps, batch, 2 * dim)  # inputs of the gate
        gates = torch.empty_like(read if gate is not None else read[:0])
        kept = passage.new_empty(steps, batch, 4, hidden)  # r, u, n and the state's part of n
        states = passage.new_zeros(steps + 1, batch, hidden)
        weights = passage.new_empty(steps, batch, question.shape[1])
        read[:, :, :dim] = texts
        for t in range(steps):
            state = states[t]
            together = prepared + torch.addmm(queries[t], state, from_state.T)[:, None]
            logits = (together.tanh_() @ v[0])[:, None]
            weights[t] = masked_softmax(logits, question_mask)[:, 0]
            read[t, :, dim:] = torch.bmm(weights[t, :, None], question)[:, 0]
            given = read[t]
            if gate is not None:
                gates[t] = (given @ gate.T).sigmoid_()
                given = given * gates[t]
            inputs = torch.addmm(b_in, given, w_in.T).view(batch, 3, hidden)
            memory = torch.addmm(b_state, state, w_state.T).view(batch, 3, hidden)
            choices = (inputs[:, :2] + memory[:, :2]).sigmoid_()
            new = torch.addcmul(inputs[:, 2], choices[:, 0], memory[:, 2]).tanh_()
            torch.lerp(new, state, choices[:, 1], out=states[t + 1])
            kept[t, :, :2], kept[t, :, 2], kept[t, :, 3] = choices, new, memory[:, 2]
        ctx.save_for_backward(
            question, attending, prepared, from_state, v, gate, w_in, w_state,
            read, gates, kept, states, weights,
        )  # fmt: skip
        return states[1:].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (question, attending, prepared, from_state, v, gate, w_in, w_state,
         read, gates, kept, states, weights) = ctx.saved_tensors  # fmt: skip
        steps, batch, two = read.shape
        dim, hidden = two // 2, len(from_state)
        above = gradients[0].transpose(0, 1)
        queries = attending.transpose(0, 1)
        d_inputs = read.new_empty(steps, batch, 3, hidden)
        d_memory = read.new_empty(steps, batch, 3, hidden)
        d_queries = read.new_empty(steps, batch, hidden)
        d_read = torch.empty_like(read)
        d_gates = torch.empty_like(gates)
        d_prepared, d_v = torch.zeros_like(prepared), torch.zeros_like(v[0])
        d_state = read.new_zeros(batch, hidden)
        for t in reversed(range(steps)):
            state, (r, u, n, m) = states[t], kept[t].unbind(1)
            d_state = d_state + above[t]
            d_n = d_state * (1 - u) * (1 - n * n)
            d_inputs[t, :, 0] = d_n * m * r * (1 - r)
            d_inputs[t, :, 1] = d_state * (state - n) * u * (1 - u)
            d_inputs[t, :, 2] = d_n
            d_memory[t, :, :2] = d_inputs[t, :, :2]
            d_memory[t, :, 2] = d_n * r
            d_state = torch.addmm(d_state * u, d_memory[t].flatten(1), w_state)
            d_given = d_inputs[t].flatten(1) @ w_in
            if gate is not None:
                opened = gates[t]
                d_gates[t] = d_given * read[t] * opened * (1 - opened)
                d_given = torch.addmm(d_given * opened, d_gates[t], gate)
            d_read[t] = d_given
            d_weights = torch.bmm(question, d_given[:, dim:, None])[:, :, 0]
            d_weights = d_weights * weights[t]
            d_logits = d_weights - weights[t] * d_weights.sum(dim=1, keepdim=True)
            query = torch.addmm(queries[t], state, from_state.T)
            together = (prepared + query[:, None]).tanh_()
            d_v += d_logits.flatten() @ together.flatten(0, 1)
            together = together.mul_(together).neg_().add_(1).mul_(d_logits[:, :, None]).mul_(v[0])
            d_prepared += together
            d_queries[t] = together.sum(dim=1)
            d_state = torch.addmm(d_state, d_queries[t], from_state)
        d_question = torch.bmm(weights.permute(1, 2, 0), d_read[:, :, dim:].transpose(0, 1))
        before = states[:-1].flatten(0, 1)
        d_inputs, d_memory = d_inputs.view(-1, 3 * hidden), d_memory.view(-1, 3 * hidden)
        flat = read.flatten(0, 1)
        d_gate = None
        if gate is not None:
            d_gate = d_gates.flatten(0, 1).T @ flat
            flat = flat * gates.flatten(0, 1)
        return (
            d_read[:, :, :dim].transpose(0, 1),
            d_question,
            d_queries.transpose(0, 1),
            d_prepared,
            None,
            d_queries.flatten(0, 1).T @ before,
            d_v[None],
            d_gate,
            d_inputs.T @ flat,
            d_memory.T @ before,
            d_inputs.sum(dim=0),
            d_memory.sum(dim=0),
        )
