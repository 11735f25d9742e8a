"""A reader made small: fewer words, their vectors in eight bits, the other weights in sixteen."""

from dataclasses import replace
from pathlib import Path

from fabir.errors import InputError
from fabir.runtime.torch_model import TorchModel


def keep_words(reader: TorchModel, words: int) -> TorchModel:
    """The same reader with only its first `words` fixed words, the most frequent ones.

    The others become unknown words; their characters are still read.
    """
    if words < 1:
        raise InputError(f"a reader keeps at least 1 word, not {words}")
    vocabulary = replace(reader.vocabulary, fixed=reader.vocabulary.fixed[:words])
    rows = reader.fixed_rows[:words]
    smaller = TorchModel.build(reader.name, reader.config, vocabulary, rows)
    smaller.no_answer_threshold = reader.no_answer_threshold
    smaller.calibration = reader.calibration
    weights = reader.network.state_dict()
    smaller.network.load_state_dict({name: weights[name] for name in smaller.network.state_dict()})
    smaller.network.eval()
    return smaller


def compact(source: Path, output: Path, words: int) -> int:
    """Write the reader in `source` to `output`, small; returns the bytes of its files.

    Raises:
        InputError: `source` is not a reader, or `output` is the same folder.
    """
    if output.resolve() == source.resolve():
        raise InputError(f"{output} is the reader itself: name another folder")
    keep_words(TorchModel.load(source), words).save(output, small=True)
    return sum(path.stat().st_size for path in output.iterdir() if path.is_file())
