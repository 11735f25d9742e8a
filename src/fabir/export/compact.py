"""A model made small: fewer words, their vectors in eight bits, the other weights in sixteen."""

from dataclasses import replace
from pathlib import Path

from fabir.errors import InputError
from fabir.runtime.torch_model import TorchModel


def keep_words(model: TorchModel, words: int) -> TorchModel:
    """The same model with only its first `words` fixed words, the most frequent ones.

    The others become unknown words; their characters are still read.
    """
    if words < 1:
        raise InputError(f"a model keeps at least 1 word, not {words}")
    vocabulary = replace(model.vocabulary, fixed=model.vocabulary.fixed[:words])
    rows = model.fixed_rows[:words]
    smaller = TorchModel.build(model.name, model.config, vocabulary, rows)
    smaller.no_answer_threshold = model.no_answer_threshold
    smaller.calibration = model.calibration
    weights = model.network.state_dict()
    smaller.network.load_state_dict({name: weights[name] for name in smaller.network.state_dict()})
    smaller.network.eval()
    return smaller


def compact(source: Path, output: Path, words: int) -> int:
    """Write the model in `source` to `output`, small; returns the bytes of its files.

    Raises:
        InputError: `source` is not a model, or `output` is the same folder.
    """
    if output.resolve() == source.resolve():
        raise InputError(f"{output} is the model itself: name another folder")
    keep_words(TorchModel.load(source), words).save(output, small=True)
    return sum(path.stat().st_size for path in output.iterdir() if path.is_file())
