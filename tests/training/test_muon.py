"""Muon against torch's own, which takes matrices one by one, and what its steps are."""

import pytest
import torch
from torch import Tensor, nn

from fabir.training.muon import Muon, orthogonalised

SHAPES = (8, 8), (12, 6), (8, 8), (6, 12), (1, 5)


def matrices() -> list[nn.Parameter]:
    random = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=random)) for shape in SHAPES]


def gradients(seed: int) -> list[Tensor]:
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=random) for shape in SHAPES]


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch before 2.9 has no Muon")
def test_steps_are_those_of_torch() -> None:
    mine, theirs = matrices(), matrices()
    together = Muon(mine, lr=0.05, weight_decay=0.1)
    alone = torch.optim.Muon(theirs, lr=0.05, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for seed in range(4):
        for each in mine, theirs:
            for matrix, gradient in zip(each, gradients(seed), strict=True):
                matrix.grad = gradient.clone()
        together.step()
        alone.step()
    for before, a, b in zip(matrices(), mine, theirs, strict=True):
        assert (a - b).norm() < 0.02 * (b - before).norm()  # products in bfloat16


def test_orthogonalised_keeps_singular_vectors_and_evens_values() -> None:
    # Values far below the largest need more than five iterations.
    left, _ = torch.linalg.qr(torch.randn(3, 10, 6, generator=torch.Generator().manual_seed(1)))
    right, _ = torch.linalg.qr(torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(2)))
    values = torch.linspace(0.1, 1, 6).expand(3, 6)
    found = orthogonalised(left @ values.diag_embed() @ right.mT).float()
    middle = left.mT @ found @ right
    assert ((middle.diagonal(dim1=1, dim2=2) > 0.6) & (middle.diagonal(dim1=1, dim2=2) < 1.3)).all()
    assert (middle - middle.diagonal(dim1=1, dim2=2).diag_embed()).abs().max() < 0.1
    assert torch.equal(orthogonalised(found.mT), orthogonalised(found).mT)


def test_what_has_no_gradient_stays() -> None:
    mine = matrices()
    before = [matrix.detach().clone() for matrix in mine]
    mine[0].grad = torch.ones(8, 8)
    Muon(mine, lr=0.1, weight_decay=0.1).step()
    changed = [not torch.equal(a, b) for a, b in zip(mine, before, strict=True)]
    assert changed == [True, False, False, False, False]
