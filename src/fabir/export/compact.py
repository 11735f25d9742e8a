"""Smaller models: fewer words, with vectors in eight bits and other weights in sixteen."""

from dataclasses import replace
from pathlib import Path

from fabir.errors import InputError
from fabir.files import writing
from fabir.runtime.store import check_vacant, copy_licence, model_files
from fabir.runtime.torch_model import TorchModel


def keep_words(model: TorchModel, words: int) -> TorchModel:
    """The same model with only its `words` most frequent fixed words.

    The other words become unknown. Their vectors still depend on their characters.
    """
    if words < 1:
        raise InputError(f"a model must keep at least 1 word, not {words}")
    vocabulary = replace(model.vocabulary, fixed=model.vocabulary.fixed[:words])
    rows = model.fixed_rows[:words]
    smaller = TorchModel.build(model.name, model.config, vocabulary, rows)
    smaller.no_answer_threshold = model.no_answer_threshold
    smaller.calibration, smaller.confidence = model.calibration, model.confidence
    weights = model.network.state_dict()
    smaller.network.load_state_dict({name: weights[name] for name in smaller.network.state_dict()})
    smaller.network.eval()
    return smaller


def compact(source: Path, output: Path, words: int) -> int:
    """Write a smaller copy of the model in `source` to `output`; returns its size in bytes.

    Raises:
        InputError: `source` holds no model, or `output` is the same folder or another model's.
    """
    if output.resolve() == source.resolve():
        raise InputError(f"{output} is the source itself: name another folder")
    with writing(output):
        check_vacant(output, source=source)
        keep_words(TorchModel.load(source), words).save(output, small=True)
        copy_licence(source, output)
    return sum(path.stat().st_size for path in model_files(output).values())
