"""CUDA graphs of training: all that a GPU does for a batch of one shape, launched at once."""

import gc
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fabir.training.notes import note

Function = Callable[[Sequence[Tensor]], Tensor]


class Graphs:
    """A function of tensors that a GPU computes by CUDA graphs, one for each shape of its inputs.

    A small network launches thousands of kernels a step. To launch them one by one takes a
    processor longer than a GPU to run them. The function is called for the first inputs of a
    shape, is captured with the next ones, and is not called for further ones. If it cannot be
    captured, it is called for all from then on.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        self._seen: set[Hashable] = set()
        self._captured: dict[Hashable, _Captured] = {}
        self._can_capture = True
        gc.freeze()  # otherwise every capture visits all texts

    def __call__(self, function: Function, inputs: Sequence[Tensor], *settings: Hashable) -> Tensor:
        """The function's result for the inputs, tensors of the CPU.

        Args:
            function: the same in every call. All its work is on the GPU, as are its random
                numbers; its effects are in place
            settings: all else that it depends on
        """
        key = (*settings, *(each.shape for each in inputs))
        captured = self._captured.get(key)
        if captured is None:
            moved = [each.pin_memory().to(self._device, non_blocking=True) for each in inputs]
            if key in self._seen and self._can_capture:
                captured = self._capture(function, moved)
            self._seen.add(key)
            if captured is None:
                return function(moved)
            self._captured[key] = captured
        else:
            for own, given in zip(captured.inputs, inputs, strict=True):
                own.copy_(given.pin_memory(), non_blocking=True)
        captured.graph.replay()
        return captured.result.clone()

    def _capture(self, function: Function, inputs: Sequence[Tensor]) -> "_Captured | None":
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        state = generator.clone_state()
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=stream):
                result = function(inputs)
        except RuntimeError as error:  # such as for a network that reads a value of the GPU
            self._can_capture = False
            # Older versions of torch leave the state of random numbers, which all graphs share, in
            # the middle of a capture.
            self._captured.clear()
            generator.graphsafe_set_state(state)
            why = str(error.__context__ or error).partition("\n")[0]
            note(f"the network cannot be a CUDA graph, and trains without: {why}")
            return None
        return _Captured(graph, inputs, result)


class _Captured(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: Sequence[Tensor]
    result: Tensor
