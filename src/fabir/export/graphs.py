"""Static quantisation of an ONNX graph's linear maps."""

import logging
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_FEWEST_ROWS = 16  # of a matrix in 8 bits; a smaller product costs less than the conversion


@contextmanager
def quiet(*names: str) -> Iterator[None]:
    """Silence loggers whose messages are of no use to users; errors are still shown."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def quantise(path: Path, batches: list[dict[str, np.ndarray]]) -> None:
    """Quantise the linear maps of a graph to 8 bits, with ranges from calibration batches.

    The ranges are constants, so an answer does not depend on the rest of its batch.
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    graph = onnx.load(path).graph
    names = [each.name for each in graph.input]
    left = iter(batches)

    class Inputs(CalibrationDataReader):
        def get_next(self) -> Any:
            arrays = next(left, None)
            return arrays and {name: arrays[name] for name in names}

    matrices = {
        weight.name
        for weight in graph.initializer
        if len(weight.dims) == 2 and weight.dims[0] >= _FEWEST_ROWS
    }
    linear = [n.name for n in graph.node if n.op_type == "MatMul" and n.input[1] in matrices]
    with tempfile.TemporaryDirectory() as folder, quiet("root"):
        smaller = Path(folder) / path.name
        quantize_static(
            path,
            smaller,
            Inputs(),
            activation_type=QuantType.QUInt8,  # processors multiply unsigned by signed integers
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_quantize=linear,
            extra_options={
                "OpTypesToExcludeOutputQuantization": ["MatMul"],
                "DedicatedQDQPair": True,  # other operations get unrounded numbers
            },
        )
        model = onnx.load(smaller)
    _join_biases(model.graph)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)


def _join_biases(graph: Any) -> None:
    """Fuse each product in 8 bits with the addition of its bias.

    ONNX Runtime fuses the product with its scaling, but not with the addition.
    """
    made = {name: node for node in graph.node for name in node.output}
    biases = {weight.name for weight in graph.initializer if len(weight.dims) == 1}
    read = Counter(name for node in graph.node for name in node.input)
    for node in list(graph.node):
        if node.op_type != "Add":
            continue
        given, bias = node.input if node.input[1] in biases else reversed(node.input)
        product = made.get(given)
        if bias not in biases or product is None or product.op_type != "MatMul" or read[given] > 1:
            continue
        factors = [made[name] for name in product.input if name in made]
        if [factor.op_type for factor in factors] != ["DequantizeLinear"] * 2:
            continue
        # The operator's inputs: both factors, both scales, both zero points, the bias.
        inputs = [factor.input[place] for place in range(3) for factor in factors]
        node.op_type, node.domain = "MatMulIntegerToFloat", "com.microsoft"
        del node.input[:]
        node.input.extend([*inputs, bias])
        graph.node.remove(product)
        for factor in factors:
            if not any(factor.output[0] in other.input for other in graph.node):
                graph.node.remove(factor)
