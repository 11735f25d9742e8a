"""Tiny vocabularies, batches, configurations, readers and answers for tests. No tests here."""

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fabir.answer.predictor import Answer, Reading
from fabir.data.batches import Batch, collate
from fabir.data.dataset import Dataset
from fabir.evaluation.analysis import analyse
from fabir.readers import registered
from fabir.runtime.torch_model import TorchModel
from fabir.studies.study import Study, read_study
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import NO_ANSWER, Vocabulary, WordTable
from fabir.training.config_files import load_config, shipped_rows
from fabir.training.settings import RunConfig

_RESULTS = Path(__file__).parent.parent / "dev" / "results"
PUBLISHED = sorted(_RESULTS.glob("**/results.json"))
CONFIGS = list(shipped_rows())

RAIN = "Gravity pulls the drops down, so rain falls from the clouds to the ground."
ABBEY = "The abbey was founded in 1082 by William, then Duke of Normandy, near Caen."
# Question, passage, and the first and last word of the answer.
EXAMPLES = [
    ("What pulls the drops?", RAIN, 0, 0),
    ("Where does rain fall from?", RAIN, 10, 11),
    ("When was the abbey founded?", ABBEY, 5, 5),
    ("Who founded the abbey?", ABBEY, 7, 12),
]

# Sizes at which every registered reader is quick; a field that a reader lacks is left out.
SMALL = {
    "character_dim": 4,
    "character_filters": 12,
    "model_dim": 16,
    "feed_forward": 16,
    "selector_hidden": 8,
    "hidden": 16,
    "pointer_hidden": 64,
    "model_blocks": 2,
}
WORD_DIM = 8


def small_vocabulary(*, no_answer: bool = False) -> Vocabulary:
    """Of the words of the examples some are fixed, some trained, some unknown."""
    texts = [text for question, passage, *_ in EXAMPLES for text in (question, passage)]
    words = sorted({word.lower() for text in texts for word in tokenise(text).words})
    return Vocabulary(
        trained=(*words[::5], *[NO_ANSWER] * no_answer),
        fixed=tuple(word for row, word in enumerate(words) if row % 5 > 1),
        characters="abcdefghijklmnopqrstuvwyzGTW,.?01",
        max_characters=8,
    )


@cache
def shipped_config(name: str) -> RunConfig:
    """`load_config(name)`, once: many tests ask for every shipped row."""
    return load_config(name)


def small_config(config: Any) -> Any:
    """`config`, a reader's, with no size above the small ones, and all the rest as it is."""
    known = {field.name for field in fields(config)} & SMALL.keys()
    return replace(config, **{name: min(SMALL[name], getattr(config, name)) for name in known})


def small_reader(name: str = "fabir", config: Any = None, *, no_answer: bool = False) -> TorchModel:
    """An untrained reader in evaluation mode; its word rows are exact in float16."""
    torch.manual_seed(0)
    vocabulary = small_vocabulary(no_answer=no_answer)
    rows = torch.randn(len(vocabulary.fixed), WORD_DIM).half().float()
    config = small_config(config or registered(name).config())
    reader = TorchModel.build(name, config, vocabulary, rows)
    reader.network.eval()
    return reader


def batch_of(vocabulary: Vocabulary, *pairs: tuple[str, str]) -> Batch[Tensor]:
    """A batch of questions, each with its passage; those about the same one share it."""
    table = WordTable(vocabulary)
    questions = [table.number(tokenise(question).words) for question, _ in pairs]
    distinct = list(dict.fromkeys(passage for _, passage in pairs))
    passages = [table.number(tokenise(passage).words) for passage in distinct]
    rows = [distinct.index(passage) for _, passage in pairs]
    return collate(table, passages, questions, rows).tensors()


def padded_texts(
    lengths: list[tuple[int, int]], dim: int, longest: tuple[int, int] | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Vectors of passages and questions of these lengths with noise at the padding, and their
    masks; one place longer than the longest if that is not said."""
    torch.manual_seed(0)
    masks = []
    for side, words in enumerate(zip(*lengths, strict=True)):
        places = torch.arange(longest[side] if longest else max(words) + 1)
        masks.append(places[None, :, None] < torch.tensor(words)[:, None, None])
    passage, question = (torch.randn(*mask.shape[:2], dim) for mask in masks)
    return passage, question, masks[0], masks[1]


class Seen(nn.Module):
    """In place of a recurrent layer: what it is given."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return x


def published_study(results: Path) -> Study:
    """The study of a published table: the one beside it, or the shipped one that its folder below
    `dev/results` is called after. Other budgets of a study have folders in there."""
    own = results.with_name("study.yaml")
    return read_study(str(own) if own.exists() else results.relative_to(_RESULTS).parts[0])


def reading(text: str, score: float, no_answer: float = 0.0) -> Reading:
    return Reading([Answer(text, 0, len(text), score)], no_answer)


def readings(data: Dataset, wrong: int, score: float = 0.8) -> dict[str, Reading]:
    """The first `wrong` questions get an answer that shares no word with any."""
    return {
        question.id: reading("zzz" if number < wrong else question.answers[0].text, score)
        for number, (_, question) in enumerate(data.questions)
    }


def analysed(data: Dataset, **wrong: int) -> dict[str, Any]:
    found = {name: readings(data, count) for name, count in wrong.items()}
    vocabularies = dict.fromkeys(wrong, small_vocabulary())
    return analyse(data, found, dict.fromkeys(wrong, 1.0), vocabularies)
