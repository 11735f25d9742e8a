"""A model exported once for all tests, and layers that are exported alone. No tests here."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from filelock import FileLock
from torch import Tensor, nn

from fabir.data.squad import read_squad
from fabir.export.onnx import export
from fabir.readers.crossconv import CrossConvConfig
from factories import small_reader
from tiny import write_files


def exported_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a small crossconv, and the folder it was exported to. Do not change them.

    The first process that asks makes them, since tracing takes long.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of all workers
    source, output, done = (base / f"crossconv-{name}" for name in ("model", "exported", "done"))
    with FileLock(base / "crossconv.lock"):
        if not done.exists():
            _export(source, output, tmp_path_factory.mktemp("data"))
            done.touch()
    assert done.exists()
    return source, output


def _export(source: Path, output: Path, data: Path) -> None:
    model = small_reader("crossconv", CrossConvConfig(layers=1, no_answer_hidden=6))
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weights in model.network.named_parameters():
            if name.endswith("bias"):
                weights.normal_(std=0.1)  # so each weight has an effect
    model.save(source, small=True)
    dev = read_squad(write_files(data).dev)
    report = export(source, output, data=dev)
    assert report["largest_logit_difference"] < 1e-4
    assert report["bytes"] == sum(path.stat().st_size for path in output.iterdir())
    assert report["torch"] == report["onnx"]
    assert report["onnx"]["total"] == len(dev)


def assert_exports(
    layer: nn.Module,
    given: Mapping[str, Tensor],
    sizes: Mapping[str, Sequence[str]],
    others: Sequence[Sequence[Tensor]],
    folder: Path,
) -> None:
    """The graph of a layer, traced with `given`, returns for `others` what the layer returns.

    `sizes` names the first dimensions of each input, which may have any size.
    """
    layer.eval()
    dims = {name: torch.export.Dim(name, min=2) for each in sizes.values() for name in each}
    dynamic = tuple({place: dims[name] for place, name in enumerate(sizes[each])} for each in given)
    with torch.no_grad():
        program = torch.onnx.export(
            layer,
            tuple(given.values()),
            dynamo=True,
            dynamic_shapes=dynamic,
            input_names=list(given),
            verbose=False,
        )
        assert program is not None
        program.save(folder / "layer.onnx")
        session = onnxruntime.InferenceSession(folder / "layer.onnx")
        for inputs in others:
            named = {name: x.numpy() for name, x in zip(given, inputs, strict=True)}
            expected = layer(*inputs)
            expected = expected if isinstance(expected, tuple) else (expected,)
            for ours, theirs in zip(session.run(None, named), expected, strict=True):
                np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), atol=1e-6)
