"""Tells the models of transformers from those of fabir, by the network only if nothing else can."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.runtime.locate import find_model
from fabir.runtime.settings import SETTINGS, read_json

PAGE = "docs/from-transformers.md"

# Architectures of transformers, as they stand in names of models on the hub. "bert" finds roberta,
# deberta, albert, distilbert and many more. Words of other uses too must stand alone.
_ARCHITECTURE = re.compile(
    r"bert|electra|xlnet|xlm|minilm|mpnet|longformer|reformer|roformer|big[_-]?bird|layoutlm|markuplm"
    r"|splinter|ernie|llama|mistral|mixtral|ministral|qwen|gpt|nystromformer|yoso|data2vec|lxmert"
    r"|pegasus|nezha|xmod|gemma|smollm|nemotron|exaone"
    r"|(?<![a-z])(m?bart|flan|(m|um|by)?t5|led|luke|opt|fnet|funnel|canine|bloomz?|falcon|lilt|mega"
    r"|mpt|mra|mvp|minimax|arcee)(?![a-z])",
    re.IGNORECASE,
)
_HUB_NAME = re.compile(r"((?P<owner>\w[\w.-]*)/)?(?P<model>\w[\w.-]*)")
_MOST_BYTES = 1 << 24  # of a config.json


def is_transformers(model: Any) -> bool:
    """Whether a model is one of transformers; the network is not used.

    - An object is, if its `config` has a `model_type`.
    - A folder is, if its `config.json` has `model_type` or `architectures`.
    - A name on the hub is, if its part after the owner has an architecture of transformers in it,
      such as "bert" or "electra", and not "fabir"; or if its owner has "transformer" in it.
    """
    if not isinstance(model, str | Path):
        return isinstance(getattr(getattr(model, "config", None), "model_type", None), str)
    return _is_checkpoint(Path(model)) if Path(model).exists() else _is_name(model)


def explain(model: Any, strict: bool) -> str:
    """One line that says what a model of transformers is, and what happens or is to be done."""
    named = isinstance(model, str | Path)
    what = str(model) if named else type(model).__name__
    by_name = " by its name" if named and not Path(model).exists() and _is_name(model) else ""
    instead = "leave model= out" if strict else 'its bundled model "fast" answers instead'
    return (
        f"{what} is{by_name} a model of transformers, which fabir cannot run: {instead}; see {PAGE}"
    )


def find_candidate(model: str | Path, revision: str | None) -> Path:
    """The folder of a model that is not yet known to be of transformers.

    A name "owner/name" is downloaded from the Hugging Face hub: only the files that a model of
    fabir has, so of a model of transformers no more than `config.json`.

    Raises:
        InputError: there is no such folder, and the hub does not give it.
    """
    hint = f"if {model} is a model of transformers, leave model= out ({PAGE}):"
    try:
        return find_model(model, revision)
    except InputError as error:
        raise InputError(f"{hint} {error}") from error


def _is_name(model: str | Path) -> bool:
    """Whether it is a name on the hub that says transformers."""
    name = _HUB_NAME.fullmatch(model.as_posix() if isinstance(model, Path) else model)
    if name is None or "fabir" in name["model"].lower():
        return False
    owner = name["owner"] or ""
    return "transformer" in owner.lower() or _ARCHITECTURE.search(name["model"]) is not None


def _is_checkpoint(folder: Path) -> bool:
    with suppress(InputError):  # a damaged file is reported by whatever loads the folder
        settings = read_json(folder / SETTINGS, set(), _MOST_BYTES)
        return "format" not in settings and not settings.keys().isdisjoint(
            {"model_type", "architectures"}
        )
    return False
