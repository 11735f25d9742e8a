"""Tensors of torch in safetensors files."""

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fabir.errors import InputError
from fabir.files import replacing


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file and its metadata; an InputError names a bad file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {k: file.get_tensor(k) for k in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file, complete or not at all."""
    with replacing(path) as temporary:
        save_tensors(tensors, temporary, metadata)


def save_tensors(
    tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file in place."""
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    path.write_bytes(save(whole, metadata))  # whose own way to a file hides why it failed


def are_numbers(tensor: Tensor) -> bool:
    """Whether a tensor holds floating-point numbers, all of them finite."""
    # A sum takes a tenth of the time of a test of each element.
    return tensor.is_floating_point() and bool(torch.isfinite(tensor.sum(dtype=torch.float64)))
