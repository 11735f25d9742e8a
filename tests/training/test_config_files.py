"""Every shipped row is one network; every mistake in a configuration is a line that names it."""

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from fabir.data.dataset import Dataset
from fabir.data.features import build_features
from fabir.errors import InputError
from fabir.layers.embedding import VocabularySizes
from fabir.readers import registered
from fabir.readers.crossconv import CrossConvConfig
from fabir.readers.fabir import Fabir, FabirConfig
from fabir.runtime.locate import BUNDLED_MODELS
from fabir.runtime.settings import read_states
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import VocabularyConfig, build_vocabulary
from fabir.training.config_files import SHIPPED, card_text, help_of, load_config
from fabir.training.examples import usable_examples
from fabir.training.keys import written
from fabir.training.loop import Trainer
from fabir.training.settings import RunConfig, TrainingConfig, VectorsConfig
from factories import CONFIGS, shipped_config, small_config, small_reader
from tiny import dataset

# What each row of Table I (thesis: Table 6) changes.
ROWS: dict[str, dict[str, Any]] = {
    "fabir-base-18-epochs": {},
    "fabir-no-characters": {"characters": False},
    "fabir-no-convolution": {"attention_width": 0},
    "fabir-matrix-reduction": {"reduction": "matrix"},
    "fabir-row-wise": {"cross_attention": "row-wise"},
    "fabir-2-heads": {"heads": 2},
    "fabir-2-layers": {"layers": 2},
    "fabir-4-layers": {"layers": 4},
    "fabir-linear-selector": {"selector": "linear"},
    "fabir-selector-width-1": {"selector_width": 1},
    "fabir-switching": {"layer_type": "switching"},
    "fabir-selectors-in-different-layers": {"selector_layers": "different"},
}


# Of thesis Table 5, beside what is the default.
TABLE_5 = FabirConfig(first_position=1, lowest_frequency=1e-3)
COURSE: dict[str, Any] = {  # the recipe of CS224N's program
    "epochs": 30, "batch_size": 64, "max_question": 50, "optimiser": "adadelta",
    "learning_rate": 0.5, "beta2": 0.9, "epsilon": 1e-6, "schedule": "constant", "warmup_steps": 0,
    "clip": 5.0, "average": 0.999, "precision": "fp32", "evaluations": 2.6,
}  # fmt: skip
RECIPES: dict[str, dict[str, Any]] = {  # published, by the rows' first letters
    "fabir": {"epochs": 18, "precision": "fp32"},
    "bidaf": {
        "epochs": 12, "batch_size": 60, "max_question": 30, "optimiser": "adadelta",
        "learning_rate": 0.5, "beta2": 0.95, "epsilon": 1e-8, "schedule": "constant",
        "warmup_steps": 0, "average": 0.999, "precision": "fp32", "evaluations": 1.46,
    },
    "bidaf-cs224n": COURSE,
    "rnet": COURSE,
    "a3": COURSE,
    "qanet": {
        "epochs": 55, "batch_size": 32, "learning_rate": 1e-3, "schedule": "constant",
        "warmup_steps": 1000, "warmup": "logarithmic", "beta1": 0.8, "beta2": 0.999,
        "epsilon": 1e-7, "clip": 10.0, "l2": 3e-7, "average": 0.9999, "precision": "fp32",
    },
}  # fmt: skip
CROSSCONV = TrainingConfig(
    epochs=14, dropout_after=1, batch_size=128, questions_per_passage=5, optimiser="muon",
    learning_rate=5.6e-3, schedule="linear", warmup_steps=200, decay=0.7, weight_decay=0.01,
    clip=5.0, average=0.996, label_smoothing=0.0, distillation_weight=0.7, word_rows=50000,
    beta1=0.9, beta2=0.98, epsilon=1e-8, l2=0.0, warmup="linear", precision="bf16",
    length_groups=30, max_passage=400, max_question=60, evaluations=1,
)  # fmt: skip


FABIR_CONFIGS = [name for name in CONFIGS if shipped_config(name).reader == "fabir"]


def sizes(word_dim: int) -> VocabularySizes:
    return VocabularySizes(word_dim=word_dim, trained_words=5, fixed_words=9, characters=80)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_shipped_row_makes_a_network_of_the_vectors_it_is_meant_for(name: str) -> None:
    run = shipped_config(name)
    assert run.vectors.dim
    with torch.device("meta"):  # shapes alone
        registered(run.reader).network(run.network, sizes(run.vectors.dim))


@pytest.mark.parametrize("name", FABIR_CONFIGS)
def test_what_50_dimensional_vectors_need(name: str) -> None:
    network = load_config(name, ["--network.character_filters", "150"]).network
    if not network.characters:
        with pytest.raises(
            ValueError, match=r"heads must divide the features of a word .* 4 do not divide 50"
        ):
            Fabir(network, sizes(50))
        network = load_config(name, ["--network.heads", "2"]).network
    with torch.device("meta"):
        assert any(True for _ in Fabir(network, sizes(50)).parameters())


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_table_changes_one_thing(name: str) -> None:
    assert shipped_config(name) == RunConfig(
        "fabir",
        replace(TABLE_5, **ROWS[name]),
        VocabularyConfig(tokeniser="nltk"),
        TrainingConfig(epochs=18, precision="fp32"),
        VectorsConfig(dim=100),
    )
    said = rf'^  {name}:  # (Table I|Thesis Table 6), ".+": F1 7\d\.\d, EM 6\d\.\d$'
    assert re.search(said, (SHIPPED / "fabir.yaml").read_text(encoding="utf-8"), re.MULTILINE)


def test_fabir_is_table_5_of_its_thesis() -> None:
    run = load_config("fabir")
    training = TrainingConfig(precision="fp32")
    vocabulary = VocabularyConfig(tokeniser="nltk")
    assert run == RunConfig("fabir", TABLE_5, vocabulary, training, VectorsConfig(dim=100))
    assert (run.training.epochs, run.training.warmup_steps) == (54, 4000)
    assert (run.training.beta1, run.training.beta2) == (0.9, 0.98)
    assert run.training.learning_rate == pytest.approx(0.5 * 100**-0.5 * 4000**-0.5, rel=1e-4)
    assert run.training.label_smoothing == 0


OWN = "crossconv", "fast", "accurate"  # of no paper


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in ("fabir", *OWN)])
def test_rows_have_the_published_recipes(name: str) -> None:
    run = shipped_config(name)
    recipe = RECIPES["bidaf-cs224n" if name == "bidaf-cs224n" else name.partition("-")[0]]
    augmented = {"epochs": run.training.epochs, "mix": run.training.mix}  # in QANet's last rows
    assert run.training == TrainingConfig(**(recipe | augmented if "-x" in name else recipe))
    if not name.startswith("fabir"):
        assert run.network.init == "random"
        assert run.vocabulary.max_characters == 16


# Sizes and choices that the papers name, of all their rows but for what a row is about.
NETWORKS: dict[str, dict[str, Any]] = {
    "bidaf": {
        "hidden": 100, "character_filters": 100, "character_widths": (5,), "highway_layers": 2,
        "modelling_layers": 2, "cell": "lstm", "dropout": 0.2,
    },
    "rnet": {
        "hidden": 100, "character_dim": 20, "character_filters": 100, "cell": "gru",
        "highway": "characters",
    },
    "a3": {
        "hidden": 100, "character_widths": (2, 3, 4), "character_windows": "valid",
        "character_margin": 1, "word_activation": "sigmoid", "word_dim": 100, "joined_dim": 100,
    },
    "qanet": {
        "character_dim": 200, "character_filters": 200, "highway_layers": 2, "model_dim": 128,
        "heads": 8, "convolutions": 4, "width": 7, "model_convolutions": 2, "model_width": 5,
        "model_blocks": 7, "encoder": "blocks", "self_attention": True, "separable": True,
        "dropout": 0.1, "dropout_characters": 0.05, "layer_dropout": 0.1,
    },
}  # fmt: skip
BARE = {"characters": False, "joined_dim": 0, "conditional_end": False, "word_activation": "none"}
POINTER = {"conditional_end": True, "pointer_hidden": 1000}
ABOUT: dict[str, dict[str, Any]] = {
    "rnet-0-baseline": {"characters": False, "highway": "joined"},
    "bidaf-cs224n": {
        "characters": False,
        "word_dim": 100,
        "backwards": "through",
        "end": "modelled",
    },
    "a3-coatt": BARE | {"attention": "coattention", "sentinels": "none"},
    "a3-coatt-sentinels": BARE | {"attention": "coattention", "sentinels": "separate"},
    "a3-coselfatt-stacked": BARE | {"attention": "stacked"},
    "a3-coselfatt-merged": BARE | {"attention": "merged"},
    "a3-charemb": {"attention": "flow", "conditional_end": False},
    "a3-charemb-coatt": {"attention": "coattention", "conditional_end": False},
    "a3-charemb-triselfatt": {"attention": "trilinear", "conditional_end": False},
    "a3-charemb-condoutput": {"attention": "flow"} | POINTER,
    "a3-charemb-triselfatt-condoutput": {"attention": "trilinear"} | POINTER,
    "qanet-no-convolution": {"convolutions": 0, "model_convolutions": 0},
    "qanet-no-self-attention": {"self_attention": False},
    "qanet-normal-convolution": {"separable": False},
    **{
        f"qanet-rnn-{count}": {"encoder": "recurrent", "recurrent_layers": count}
        for count in (1, 2, 3)
    },
}


@pytest.mark.parametrize("name", [name for name in CONFIGS if name.partition("-")[0] in NETWORKS])
def test_rows_have_the_published_networks(name: str) -> None:
    network = asdict(shipped_config(name).network)
    published = NETWORKS[name.partition("-")[0]] | ABOUT.get(name, {})
    assert {field: network[field] for field in published} == published


@pytest.mark.parametrize("name", [name for name in CONFIGS if "-x" in name])
def test_augmented_data_takes_as_many_batches_as_the_original(name: str) -> None:
    training, original = shipped_config(name).training, shipped_config("qanet").training
    passes = training.epochs * sum(training.mix) / training.mix[0]
    assert passes == pytest.approx(original.epochs, rel=0.04)


def test_crossconv_is_as_it_was() -> None:
    run = load_config("crossconv")
    vocabulary = VocabularyConfig(max_characters=20)
    vectors = VectorsConfig(dim=50)
    assert run == RunConfig("crossconv", CrossConvConfig(), vocabulary, CROSSCONV, vectors)


@pytest.mark.parametrize("name", ["fast", "accurate"])
def test_a_bundled_models_name_trains_its_network(name: str) -> None:
    run, bundled = load_config(name), read_states(BUNDLED_MODELS / name)[0]
    assert run.reader == bundled.reader
    mine, theirs = (
        {key: size for key, size in sizes.items() if not key.startswith("dropout")}
        for sizes in (asdict(run.network), bundled.network)
    )
    assert mine == theirs


@pytest.mark.parametrize("name", CONFIGS)
def test_every_shipped_row_says_what_it_costs_and_brings(name: str) -> None:
    lines = card_text(name).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["time", "memory", "disk", "F1"]
    assert all(re.search(r"\d|not measured", line) for line in lines)


def f1_of(name: str) -> str:
    return card_text(name).partition("F1:")[2].strip()


def test_a_row_has_not_the_score_of_its_base(tmp_path: Path) -> None:
    assert "73.1 after 18 epochs" in f1_of("fabir")
    assert f1_of("fabir-2-heads") == "not measured for this row"
    assert "without the head" in f1_of("fast")
    table = "base: {reader: fabir, card: {F1: 3, time: 9}}\nrows: {a: , b: {network: {heads: 2}}}\n"
    path = write(tmp_path, table)
    assert card_text(f"{path}:a") == "F1:      3\ntime:    9\n"
    assert card_text(f"{path}:b") == "F1:      not measured for this row\ntime:    9\n"


def test_cards_have_the_scores_of_the_short_budget() -> None:
    page = (SHIPPED.parent / "dev" / "short-budget.md").read_text(encoding="utf-8")
    table = page.partition("| row | F1 | EM | paper")[2].partition("\n\n")[0]
    lines = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()[2:]]
    assert len(lines) == 23
    for _, name, f1, _, paper, *_ in lines:
        card = f1_of(name.strip("`"))
        assert f"{f1} after 30,024 questions of SQuAD 1.1" in card
        assert not paper or f"the paper {paper.split()[0]}" in card
        assert ("(SQuAD 2.0)" in card) == ("*" in paper)


def test_a_card_changes_nothing(tmp_path: Path) -> None:
    plain = load_config(write(tmp_path, "reader: fabir\n"))
    table = write(tmp_path, "base: {reader: fabir, card: 5}\nrows: {a: {network: {heads: 2}}}\n")
    assert card_text(f"{table}:a") == ""
    assert card_text(str(write(tmp_path, "reader: fabir\ncard: {1: 3}\n"))) == "1:       3\n"
    path = write(tmp_path, "reader: fabir\ncard: {F1: 3}\n")
    assert load_config(path) == plain
    assert card_text(str(path)) == "F1:      3\n"
    assert card_text(str(write(tmp_path, "reader: fabir\n"))) == ""


def test_a_run_that_continues_has_the_network_and_the_tokeniser_of_the_model(
    tmp_path: Path,
) -> None:
    network = replace(small_config(CrossConvConfig()), no_answer_hidden=4, dropout_input=0.3)
    model = small_reader("crossconv", network)
    model.vocabulary = replace(model.vocabulary, tokeniser="nltk")
    model.save(tmp_path / "model")
    recipe = load_config(None, start=tmp_path / "model")
    assert (recipe.reader, recipe.network) == ("crossconv", network)
    assert recipe.vocabulary.tokeniser == "nltk"
    assert recipe.training.optimiser == "muon"
    path = write(tmp_path, "training: {epochs: 2}\nnetwork: {dropout_input: 0.2}\n")
    changed = load_config(path, ["--training.batch_size", "8"], tmp_path / "model")
    assert changed.network == replace(network, dropout_input=0.2)
    assert changed.training == replace(recipe.training, epochs=2, batch_size=8)
    own = write(tmp_path, "reader: crossconv\n")
    assert load_config(own, start=tmp_path / "model") == load_config(own)
    with pytest.raises(InputError, match="name a configuration, or a model to continue from"):
        load_config(None)


def test_the_bundled_model_can_be_continued_by_its_name() -> None:
    assert load_config(None, start="fast").network.no_answer_hidden == 24


@pytest.mark.parametrize("name", CONFIGS)
def test_the_help_of_a_configuration_has_its_keys_and_values(name: str) -> None:
    shown, run = " ".join(help_of(name, None).split()), shipped_config(name)
    card = " ".join(card_text(name).split())
    assert shown.startswith(f"keys of the configuration {name}: {card} --")
    explained = {each.partition(" ")[0]: each for each in shown.split(" --")}
    for section in ("network", "training", "vocabulary", "vectors"):
        for key, value in asdict(getattr(run, section)).items():
            assert f"(default: {written(value)})" in explained[f"{section}.{key}"]


@pytest.mark.parametrize("name", CONFIGS)
def test_every_shipped_row_can_be_trained(name: str, tmp_path: Path) -> None:
    """Small networks with the row's recipe: two steps change its weights."""
    run, data = shipped_config(name), dataset()
    features = build_features(data)
    vocabulary, _ = build_vocabulary(features.counts(), [], VocabularyConfig(word_count=1))
    network = small_config(run.network)
    reader = TorchModel.build(run.reader, network, vocabulary, torch.zeros(0, 8))
    training = replace(run.training, batch_size=10, mix=())
    examples = usable_examples(features, vocabulary, training)
    trainer = Trainer(reader, training, examples, Dataset((), ""), tmp_path)
    weights = list(reader.network.parameters())
    before = [weight.detach().clone() for weight in weights]
    losses = [trainer.step() for _ in range(2)]
    assert all(0 < loss < 20 for loss in losses)
    assert all(weight.isfinite().all() for weight in weights)
    changed = [not torch.equal(*pair) for pair in zip(weights, before, strict=True)]
    assert sum(changed) > 0.9 * len(weights)  # a bias that a softmax cancels stays as it is


def test_a_file_a_row_of_it_and_a_rows_name() -> None:
    table = SHIPPED / "fabir.yaml"
    assert load_config(table) == load_config("fabir") == load_config(f"{table}:fabir")
    assert load_config(f"{table}:fabir-2-heads") == load_config("fabir-2-heads")
    alone = SHIPPED / "bidaf.yaml"
    assert load_config(alone) == load_config("bidaf") == load_config(f"{alone}:bidaf")


def test_no_two_tables_have_a_row_of_one_name() -> None:
    names = [name for path in SHIPPED.glob("*.yaml") for name in table_rows(path)]
    assert sorted(names) == sorted(CONFIGS)


def table_rows(path: Path) -> list[str]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return list(content.get("rows", [path.stem]))


def test_a_row_changes_the_keys_that_it_has(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        base: {reader: fabir, network: {heads: 2, layers: 2}, training: {epochs: 3}}
        rows:
          same:
          empty: {network: }
          other: {network: {heads: 1}, vocabulary: {word_count: 7}}
        """,
    )
    base = load_config(path)
    assert (base.network, base.training.epochs) == (FabirConfig(heads=2, layers=2), 3)
    assert base == load_config(f"{path}:same") == load_config(f"{path}:empty")
    other = load_config(f"{path}:other", ["--training.epochs", "4"])
    assert (other.network, other.training.epochs) == (FabirConfig(heads=1, layers=2), 4)
    assert (base.vocabulary.word_count, other.vocabulary.word_count) == (100, 7)


@pytest.mark.parametrize(
    ("text", "row", "named"),
    [
        ("base: {reader: fabir}\nrows: {one: , two: }", "three", "no row 'three', but one, two"),
        ("base: {reader: fabir}", "one", "no row 'one', but none"),
        ("reader: fabir", "one", "no row 'one', but run"),
        ("rows: {one: {reader: fabir}}", "", "`reader` is missing"),
        ("base: {reader: fabir}\nnetwork: {heads: 2}", "", "'network' beside `base` and `rows`"),
        ("base: fabir", "", "`base` is not a section"),
        ("base: {reader: fabir}\nrows: [one]", "", "`rows` is not a section"),
        ("base: {reader: fabir}\nrows: {one: 3}", "one", "`rows.one` is not a section"),
        ("base: {reader: fabir}\nrows: {one: {network: {head: 2}}}", "one", "head"),
        ("base: {reader: fabir}\nrows: {one: {network: 3}}", "one", "network"),
    ],
)
def test_a_mistake_in_a_table_is_named(tmp_path: Path, text: str, row: str, named: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_config(f"{path}:{row}" if row else path)
    assert named in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("configs/fabir-2-heads.yaml", "is `fabir-2-heads`, or configs/fabir.yaml:fabir-2-heads"),
        ("bidaf-cs224n.yaml", "is `bidaf-cs224n`, or a3.yaml:bidaf-cs224n"),
        ("configs/fabir-fast.yaml", "configs/fabir-fast.yaml: it is called crossconv"),
        ("fabir-fast", "no configuration fabir-fast: it is called crossconv"),
        ("fabir-modern", "no configuration fabir-modern: it was removed"),
        ("fabir-3-heads", "'fabir-3-heads': did you mean fabir-2-heads? (`fabir readers`)"),
        ("zzz", "'zzz': name a .yaml file, or a row of one (`fabir readers`)"),
    ],
)
def test_a_name_that_there_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        load_config(name)
    assert "\n" not in str(caught.value)


def test_overrides_come_last() -> None:
    arguments = ["--training.epochs", "3", "--network.heads=2", "--network.characters", "false"]
    run = load_config("fabir-no-convolution", arguments)
    assert run.training == TrainingConfig(epochs=3, precision="fp32")
    assert run.network == replace(TABLE_5, heads=2, characters=False, attention_width=0)


def test_an_empty_section_is_one_of_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, "reader: fabir\nnetwork:\nvocabulary: {}\nvectors: {dim: 100}\n")
    defaults = FabirConfig(), VocabularyConfig(), TrainingConfig(), VectorsConfig(dim=100)
    assert load_config(path) == RunConfig("fabir", *defaults)


def test_a_number_may_be_written_in_any_way(tmp_path: Path) -> None:
    path = write(tmp_path, "reader: fabir\ntraining: {learning_rate: 1e-3, clip: 5}\n")
    assert load_config(path).training == TrainingConfig(learning_rate=0.001, clip=5.0)


OLD_KEYS = [
    ("questions_together", "questions_per_passage", 5),
    ("teacher_share", "distillation_weight", 0.25),
]


@pytest.mark.parametrize(("old", "new", "value"), OLD_KEYS)
def test_an_old_key_is_accepted_in_a_line_that_says_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, value: Any
) -> None:
    path = write(tmp_path, f"reader: fabir\ntraining: {{{old}: {value}}}\n")
    wanted = TrainingConfig(**{new: value})
    for _ in range(2):
        assert load_config(path).training == wanted
    line = f"{path}: training.{old} is called training.{new}\n"  # said once
    assert capsys.readouterr().err == line
    plain = write(tmp_path, "reader: fabir\n")
    for arguments in ([f"--training.{old}", str(value)], [f"--training.{old}={value}"]):
        assert load_config(plain, arguments).training == wanted
    line = f"{plain}: --training.{old} is called --training.{new}\n"
    assert capsys.readouterr().err == line
    both = write(tmp_path, f"reader: fabir\ntraining: {{{old}: {value}, {new}: {value}}}\n")
    assert f"training.{old} is called training.{new}, which is there too" in complaint(both)


@pytest.mark.parametrize("reader", ["bidaf", "rnet", "a3"])
@pytest.mark.parametrize(("old", "new"), [("alike", "matching"), ("random", "random")])
def test_an_old_value_is_accepted_with_its_old_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reader: str, old: str, new: str
) -> None:
    path = write(tmp_path, f"reader: {reader}\nnetwork: {{cross_start: {old}}}\n")
    assert load_config(path).network.init == new
    line = f"{path}: network.cross_start is called network.init\n"
    assert capsys.readouterr().err == line
    other = "random" if new == "matching" else "matching"
    plain = write(tmp_path, f"reader: {reader}\nnetwork: {{init: {other}}}\n")
    for arguments in (["--network.cross_start", old], [f"--network.cross_start={old}"]):
        assert load_config(plain, arguments).network.init == new
    line = f"{plain}: --network.cross_start is called --network.init\n"
    assert capsys.readouterr().err == line
    assert "network.init" in complaint(plain, ["--network.init", "alike"])


def write(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(path: Path, overrides: list[str] | None = None) -> str:
    """The message, which is one line and names the file."""
    with pytest.raises(InputError) as caught:
        load_config(path, overrides)
    message = str(caught.value)
    assert "Parser" not in message  # of jsonargparse
    assert str(path) in message
    assert message.count(str(path)) == 1
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("network: {head: 2}", "there is no key network.head: did you mean network.heads?"),
        ("netwrk: {heads: 2}", "there is no key netwrk: did you mean network?"),
        ("network: {epochs: 2}", "no key network.epochs: did you mean training.epochs?"),
        ("epochs: 2", "there is no key epochs: did you mean training.epochs?"),
        ("network: {qqq: 2}", "no key network.qqq: `fabir train NAME --help` lists the keys"),
        ("network: {heads: two}", "network.heads must be a whole number, not 'two'"),
        ("network: {heads: 2.5}", "network.heads must be a whole number, not 2.5"),
        ("network: {heads: }", "network.heads"),
        ("network: {heads: [1, 2]}", "network.heads"),
        ("network: {characters: 3}", "network.characters must be true or false, not 3"),
        (
            "network: {reduction: tensor}",
            "must be one of layer, matrix, feed-forward, not 'tensor'",
        ),
        ("network: 3", "network"),
        ("network: [heads, 2]", "network"),
        ("training: {schedule: cosine}", "training.schedule"),
        ("training: {learning_rate: fast}", "training.learning_rate must be a number, not 'fast'"),
        ("training: {epochs: 0}", "epochs must be at least 1, got 0"),
        ("training: {label_smoothing: 1.0}", "label_smoothing"),
        ("training: {optimiser: adam}", "training.optimiser"),
        ("training: {optimiser: adagrad, weight_decay: 0.1}", "adagrad has no weight_decay"),
        ("training: {schedule: steps, milestones: 3}", "training.milestones must be a list of num"),
        ("training: {schedule: annealed}", "schedule annealed needs annealing above 0"),
        ("vocabulary: {words: 3}", "words"),
        ("vectors: {dim: -1}", "dim must not be negative, got -1"),
        ("vectors: {size: 100}", "size"),
        ("config: other.yaml", "config"),
        ("3: {}", "3"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, named: str) -> None:
    assert named in complaint(write(tmp_path, f"reader: fabir\n{text}\n"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("network: {}", "`reader` is missing"),
        ("reader: [fabir]", "`reader` is missing"),
        ("- reader", "`reader` is missing"),
        ("", "`reader` is missing"),
        ("reader: bert", "no reader is called 'bert': there are fabir"),
        ("reader: fabir\nnetwork: {heads: 2\n", "not valid YAML"),
        ("reader: fabir\n\tnetwork: {}\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str, named: str) -> None:
    assert named in complaint(write(tmp_path, text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in complaint(tmp_path / "missing.yaml")
    assert "directory" in complaint(tmp_path).lower()
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert "not valid YAML" in complaint(binary)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        # Not even as an abbreviation.
        (["--training.epoch", "3"], "no option --training.epoch: did you mean --training.epochs?"),
        (["--epochs", "3"], "no option --epochs: did you mean --training.epochs?"),
        (["--trainig.epochs=3"], "did you mean --training.epochs?"),
        (["--training.layers", "3"], "did you mean --network.layers?"),
        (["--training.epochs", "three"], "training.epochs must be a whole number, not 'three'"),
        (["--training.mix", "3"], "training.mix must be a list of numbers, such as [3, 1]"),
        (["--training.epochs", "0"], "epochs must be at least 1, got 0"),
        (["--training.epochs"], "--training.epochs has no value"),
        (["--training.epochs", "--training.seed", "3"], "--training.epochs has no value"),
        (["--training", "{epochs: 3}"], "no option --training"),
        (["--network.heads", "null"], "network.heads"),
        (["--reader", "fabir"], "--reader"),
        (["--reader=bert"], "--reader"),
        (["--config", "other.yaml"], "--config"),
        (["--help"], "--help"),
        (["3"], "3"),
    ],
)
def test_a_mistake_on_the_command_line(tmp_path: Path, arguments: list[str], named: str) -> None:
    assert named in complaint(write(tmp_path, "reader: fabir\n"), arguments)


def test_fabir_is_read_without_the_options_that_it_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"

    def read(**network: Any) -> RunConfig:
        path.write_text(yaml.safe_dump({"reader": "fabir", "network": network}))
        return load_config(path)

    run = read(norm="after", heads=2, cross_start="random")
    assert (run.reader, run.network) == ("fabir", FabirConfig(heads=2))
    assert "fabir with cross_start, norm no longer needs them" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"mine.yaml: this version has no FABIR with these"):
        read(word_match=True)
    with pytest.raises(InputError, match=r"mine.yaml: reader fabir starts as its thesis says"):
        read(cross_start="alike")
