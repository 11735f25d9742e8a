"""What every registered reader keeps to, under its default and every shipped configuration."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fabir.answer.predictor import Predictor
from fabir.data.batches import SpanLogits
from fabir.layers.dropout import Dropout, enable_dropout
from fabir.layers.pointer import PADDING_LOGIT
from fabir.readers import READERS
from fabir.readers.a3 import A3Config
from fabir.readers.crossconv import CrossConvConfig
from fabir.readers.fabir import FabirConfig
from fabir.readers.qanet import QanetConfig
from fabir.runtime.torch_model import TorchModel
from fabir.text.tokens import tokenise
from fabir.training.loss import no_answer_loss
from factories import (
    ABBEY,
    CONFIGS,
    EXAMPLES,
    RAIN,
    batch_of,
    shipped_config,
    small_config,
    small_reader,
)

PAIRS = [(question, passage) for question, passage, _, _ in EXAMPLES]
SPANS = [(first, last) for *_, first, last in EXAMPLES]


# What no shipped configuration has.
MORE = {
    "with a head": ("crossconv", CrossConvConfig(no_answer_hidden=6)),
    "fabir-to-the-letter": (
        "fabir",
        FabirConfig(
            character_windows="valid",
            attention_height=3,
            attention_scaled=False,
            attention_bias=False,
            layer_type="bidirectional",
            learned_positions=20,
            selector_convolutions=3,
        ),
    ),
    "fabir-feed-forward-reduction": (
        "fabir",
        FabirConfig(reduction="feed-forward", attention_height=3, cross_attention="row-wise"),
    ),
    "qanet-recurrent": (
        "qanet",
        QanetConfig(encoder="recurrent", recurrent_layers=2, scale_embedding=False),
    ),
    "a3-stacked-to-the-letter": (
        "a3",
        A3Config(
            attention="stacked",
            skip=True,
            key_dim=3,
            value_dim=5,
            character_windows="valid",
            word_activation="sigmoid",
            highway="characters",
            init="random",
        ),
    ),
    "a3-cross": (
        "a3",
        A3Config(attention="cross", values="inputs", skip=True, characters=False, joined_dim=0),
    ),
}


def cases(change: Callable[[Any], Any]) -> Iterator[Any]:
    """A reader's name and a changed config; rows that differ in training alone are one case."""
    found: dict[tuple[str, Any], str] = {
        (name, change(config)): label for label, (name, config) in MORE.items()
    }
    for name, entry in READERS.items():
        found[name, change(entry.config())] = name
    for name in CONFIGS:
        run = shipped_config(name)
        found.setdefault((run.reader, change(run.network)), name)
    return (pytest.param(case, id=label) for case, label in found.items())


def easy_config(config: Any) -> Any:
    """A small `config` that learns fast: what the papers begin with is slow, or gets stuck in
    networks of this size, and two layers do what more do."""
    config = small_config(config)
    easy: dict[str, Any] = {"init": "matching", "word_activation": "none"}
    if getattr(config, "layer_type", "") != "switching":
        easy["layers"] = min(2, getattr(config, "layers", 2))
    return replace(config, **{key: value for key, value in easy.items() if hasattr(config, key)})


@pytest.fixture(scope="module", params=[*cases(small_config)])
def reader(request: pytest.FixtureRequest) -> TorchModel:
    return small_reader(*request.param)


def sides(logits: SpanLogits[Tensor]) -> list[Tensor]:
    """[batch, passage] logits of start and end; and [batch, 1] of no answer if there is a head."""
    none = [] if logits.no_answer is None else [logits.no_answer[:, None]]
    return [logits.start, logits.end, *none]


def read(reader: TorchModel, *pairs: tuple[str, str]) -> list[Tensor]:
    with torch.no_grad():
        logits = reader.network(batch_of(reader.vocabulary, *pairs))
    assert (logits.no_answer is not None) == reader.network.tells_no_answer
    return sides(logits)


def loss_of(logits: SpanLogits, spans: list[tuple[int, int]] = SPANS) -> Tensor:
    first, last = torch.tensor(spans).unbind(1)
    loss = F.cross_entropy(logits.start, first) + F.cross_entropy(logits.end, last)
    if logits.no_answer is not None:
        loss = loss + no_answer_loss(logits.no_answer, torch.ones(len(spans)) > 0).sum()
    return loss


@pytest.mark.parametrize("pairs", [PAIRS, PAIRS[:1], [("Where", RAIN)], [("Where", "Caen")]])
def test_logits_are_float32_and_masked_at_padding(
    reader: TorchModel, pairs: list[tuple[str, str]]
) -> None:
    batch = batch_of(reader.vocabulary, *pairs)
    passage = batch.for_questions(batch.passage)
    for none in read(reader, *pairs)[2:]:
        assert none.shape == (len(pairs), 1)
        assert none.dtype == torch.float32
    for logits in read(reader, *pairs)[:2]:
        assert logits.shape == passage.shape
        assert logits.dtype == torch.float32
        assert (logits[passage == 0] == PADDING_LOGIT).all()
        assert (logits[passage > 0].abs() < 1e4).all()


@pytest.mark.parametrize("longer", [(PAIRS[2][0], f"{ABBEY} {RAIN}"), (" ".join("abc" * 9), RAIN)])
def test_a_text_is_read_alike_in_every_batch(reader: TorchModel, longer: tuple[str, str]) -> None:
    pairs = [*PAIRS, ("Who sat?", "A cat sat.")]  # the last with short words too
    together = read(reader, *pairs, longer)
    for row, pair in enumerate(pairs):
        words = len(tokenise(pair[1]).words)
        for alone, batched in zip(read(reader, pair), together, strict=True):
            torch.testing.assert_close(
                batched[row, :words], alone[0, :words], atol=1e-4, rtol=0, msg=str(pair)
            )


def test_a_passage_is_encoded_alone_and_answered_from_again(reader: TorchModel) -> None:
    """`encode` knows no question: its result serves others, whatever stands at its padding."""
    questions = ["What pulls?", "Who founded the abbey near Caen?", "When"]
    batch = batch_of(reader.vocabulary, *[(question, RAIN) for question in questions])
    network = reader.network
    with torch.no_grad():
        vectors = network.embed(batch.words, batch.characters)
        encoded = network.encode(vectors[batch.passage], batch.passage_mask)
        assert encoded.shape[:2] == batch.passage.shape == (1, 16)
        kept = torch.where(batch.passage_mask, encoded, 7.0)
        found = network.answer(kept, vectors[batch.question], batch)
    for row, question in enumerate(questions):
        for alone, side in zip(read(reader, (question, RAIN)), sides(found), strict=True):
            torch.testing.assert_close(side[row, : alone.shape[1]], alone[0], atol=1e-4, rtol=0)


def test_the_gradient_reaches_every_parameter(reader: TorchModel) -> None:
    batch = batch_of(reader.vocabulary, *PAIRS)
    logits = reader.network(batch)
    generator = torch.Generator().manual_seed(1)
    real = batch.for_questions(batch.passage) > 0
    # Not the loss: a softmax takes no notice of what is added to all logits, such as a last bias.
    mixed = sum(
        (side * torch.randn(side.shape, generator=generator))[real[:, : side.shape[1]]].sum()
        for side in sides(logits)
    )
    parameters = dict(reader.network.named_parameters())
    assert isinstance(mixed, Tensor)
    gradients = torch.autograd.grad(mixed, list(parameters.values()), allow_unused=True)
    for name, gradient in zip(parameters, gradients, strict=True):
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        assert gradient.any(), name


def test_is_deterministic(reader: TorchModel) -> None:
    """The same seed makes the same weights, the same weights the same logits, bit for bit."""
    twin = small_reader(reader.name, reader.config)
    for before, after in zip(read(reader, *PAIRS), read(twin, *PAIRS), strict=True):
        assert torch.equal(before, after)


def test_saving_and_loading_keeps_the_logits(reader: TorchModel, tmp_path: Path) -> None:
    reader.save(tmp_path)
    loaded = TorchModel.load(tmp_path)
    assert (loaded.name, loaded.config) == (reader.name, reader.config)
    for before, after in zip(read(reader, *PAIRS), read(loaded, *PAIRS), strict=True):
        assert torch.equal(before, after)


def test_reads_and_learns_under_bfloat16(reader: TorchModel) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        logits = reader.network(batch_of(reader.vocabulary, *PAIRS))
    assert logits.start.dtype == logits.end.dtype == torch.float32
    for rough, exact in zip(sides(logits), read(reader, *PAIRS), strict=True):
        torch.testing.assert_close(rough, exact, atol=0.1, rtol=0.1)
    parameters = list(reader.network.parameters())
    exact = loss_of(reader.network(batch_of(reader.vocabulary, *PAIRS)))
    rough, exact = (
        torch.cat([part.flatten() for part in torch.autograd.grad(loss, parameters)])
        for loss in (loss_of(logits), exact)
    )
    assert F.cosine_similarity(rough, exact, dim=0) > 0.95


def test_trains_with_dropout_alike_from_one_seed(reader: TorchModel) -> None:
    twin = small_reader(reader.name, reader.config)
    twin.network.train()
    batch = batch_of(twin.vocabulary, *PAIRS)
    found = []
    for seed in 1, 1, 2:
        torch.manual_seed(seed)
        twin.network.zero_grad()
        logits = twin.network(batch)
        loss_of(logits).backward()
        assert all(
            parameter.grad is not None and parameter.grad.isfinite().all()
            for parameter in twin.network.parameters()
        )
        found.append(logits.start)
    assert torch.equal(found[0], found[1])
    dropouts = {
        name: layer
        for name, layer in twin.network.named_modules()
        if isinstance(layer, Dropout) and layer.threshold
    }
    assert torch.equal(found[0], found[2]) != bool(dropouts)
    used: set[str] = set()
    for name, layer in dropouts.items():
        layer.register_forward_hook(lambda *_, name=name: used.add(name))
    twin.network(batch)
    assert used == dropouts.keys()
    enable_dropout(twin.network, False)
    for trained, exact in zip(sides(twin.network(batch)), read(reader, *PAIRS), strict=True):
        torch.testing.assert_close(trained, exact, atol=1e-4, rtol=0)


def learn(
    reader: TorchModel, pairs: list[tuple[str, str]] = PAIRS, spans: list[tuple[int, int]] = SPANS
) -> None:
    """Until the answers of all pairs are known by heart."""
    batch = batch_of(reader.vocabulary, *pairs)
    optimiser = torch.optim.Adam(
        reader.network.parameters(), lr=1e-2, betas=(0.8, 0.95), fused=True
    )
    for _ in range(400):
        loss = loss_of(reader.network(batch), spans)
        if loss < 0.15:  # of four questions, so each one's answer has a probability above one half
            return
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    loss = loss_of(reader.network(batch), spans)
    pytest.fail(f"the loss is still {loss:.2f}")


@pytest.mark.slow
@pytest.mark.parametrize("case", [*cases(easy_config)])
def test_learns_four_examples_by_heart(case: tuple[str, Any]) -> None:
    learn(small_reader(*case))


@pytest.mark.parametrize("name", READERS)
def test_learns_that_a_question_has_no_answer(name: str) -> None:
    reader = small_reader(name, no_answer=True)
    pairs = [*PAIRS, ("When does rain fall?", ABBEY)]
    # The place before the passage is the first.
    learn(reader, pairs, [*((first + 1, last + 1) for first, last in SPANS), (0, 0)])
    *has, has_not = (reading.no_answer for reading in Predictor(reader).read_all(pairs))
    assert max(has) < 0.1 < 0.9 < has_not
