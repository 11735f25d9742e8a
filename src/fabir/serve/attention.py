"""The attention view of one question, made by `fabir.explain` in its own thread.

Torch is imported when the first view is made.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabir.runtime.locate import find_model
from fabir.runtime.settings import read_states
from fabir.runtime.store import WEIGHTS
from fabir.serve.batching import BusyError

if TYPE_CHECKING:
    from fabir.runtime.torch_model import TorchModel

_MAX_PENDING = 4  # pages in progress or in the queue


class Explainer:
    """Makes pages that show a reader's attention.

    Args:
        folder: a reader's folder or name; that of `fast` by default
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = find_model(folder)
        self._states = read_states(self.folder)
        self._thread = ThreadPoolExecutor(1, "fabir-explainer")
        self._pending = 0

    @property
    def obstacle(self) -> str | None:
        """The reason why no pages can be made, or None."""
        if not (self.folder / WEIGHTS).exists():
            return "the attention view needs a model's torch weights; this one is only exported"
        if find_spec("torch") is None:
            return "the attention view needs torch, which is not installed where this service runs"
        return None

    async def page(self, *asked: Any) -> str:
        """The page's HTML. The arguments are those of `explain` after the model.

        Raises:
            InputError: a blank text.
            BusyError: too many pages are in progress.
        """
        if self._pending >= _MAX_PENDING:
            raise BusyError("too many attention views are in progress: try again in a moment")
        self._pending += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._page, *asked)
        finally:
            self._pending -= 1

    def close(self) -> None:
        """Stop the thread."""
        self._thread.shutdown()

    def _page(self, *asked: Any) -> str:
        from fabir.explain.page import explain, page_of

        return page_of(explain(self._reader, *asked))

    @cached_property
    def _reader(self) -> "TorchModel":
        from fabir.runtime.torch_model import TorchModel

        if read_states(self.folder) != self._states:
            raise BusyError(
                "the model's files have changed since they were read: reload the service"
            )
        return TorchModel.load(self.folder)
