"""Studies as files, and samples of data in whole articles."""

from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.dataset import Dataset, Passage, Question
from fabir.errors import InputError
from fabir.readers import registered
from fabir.studies.study import read_study, sample, shipped
from fabir.training.config_files import load_config
from fabir.training.rows import PAPER
from fabir.training.settings import TrainingConfig

STUDY = """
title: Two of a kind
source: nobody
budgets:
  full:
  short: {questions: 8, training: {epochs: 2}}
rows:
  - {name: one, config: fabir, paper: {f1: 77.6}}
  - {name: other, config: fabir, network: {short: {heads: 2}}, training: {short: {clip: 3}}}
"""


def write(folder: Path, text: str) -> str:
    path = folder / "study.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_row_of_a_shipped_study_can_be_run(name: str) -> None:
    study = read_study(name)
    assert study.budgets.keys() == {"full", "full-50d", "short", "medium", "gpu", "smoke"}
    networks = set()
    for row in study.rows:
        for budget in study.budgets:
            config = study.run_config(row, budget)
            vectors = study.budget(budget).vectors or study.vectors
            dim = int(vectors.removesuffix("d.txt").rpartition(".")[2])
            networks.add((config.reader, config.network, dim))
    for reader, network, dim in networks:
        with torch.device("meta"):
            registered(reader).network(network, replace(PAPER, word_dim=dim))


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("fabir-table-1", 100),
        ("fabir-table-2", 100),
        ("rnet-table-1", 300),
        ("a3-figure-8", 300),
        ("qanet-ablation", 300),
    ],
)
def test_the_full_budget_trains_as_published(name: str, dim: int) -> None:
    study = read_study(name)
    assert study.budget("full").vectors == ""
    assert study.vectors.endswith(f".{dim}d.txt")
    for row in study.rows:
        assert study.run_config(row, "full") == load_config(row.config)


SHORT = TrainingConfig(
    epochs=1, batch_size=32, questions_per_passage=5, optimiser="muon", schedule="linear",
    warmup_steps=200, decay=0.5, beta1=0.9, beta2=0.98, epsilon=1e-8, weight_decay=0.01, clip=5.0,
    average=0.995, label_smoothing=0.0, dropout_after=1, precision="bf16", evaluations=0,
)  # fmt: skip
RATES = {"fabir": 7e-4, "crossconv": 4e-3, "bidaf": 4e-3, "rnet": 4e-3, "a3": 4e-3, "qanet": 2e-3}

# At length these are slower and have no dropout. Unanswerable questions count as in SQuAD 2.0's
# training file (the ladder) or its dev set (A3).
SLOWER = {"learning_rate": 1.5e-3, "dropout_after": 3}
OWN = {
    "a3-figure-8": SLOWER | {"unanswerable_share": 0.5, "word_rows": 50_000, "word_decay": 0.5},
    "rnet-table-1": SLOWER | {"unanswerable_share": 0.334},
}


@pytest.mark.parametrize("name", shipped())
def test_short_and_medium_have_one_recipe(name: str) -> None:
    """For all rows and all settings, whatever the rows' own recipes are, but for the rate.
    `medium` has all questions, dropout, more epochs and, for some, keys of its own."""
    study = read_study(name)
    assert study.budget("short").questions == 30_000
    assert study.budget("medium") == replace(
        study.budget("short"), questions=0, training=study.budget("medium").training
    )
    for row in study.rows:
        short, medium = (study.run_config(row, budget) for budget in ("short", "medium"))
        ours = 0.7 if short.reader == "crossconv" else 0.5  # which without teachers does nothing
        theirs = {"distillation_weight": ours, "mix": short.training.mix}
        recipe = replace(SHORT, learning_rate=RATES[short.reader], **theirs)
        assert short.training == recipe
        longer = {"epochs": 6 if short.reader == "qanet" else 3, "dropout_after": 0.5}
        assert medium.training == replace(recipe, **(longer | OWN.get(name, {})))
        gpu = study.run_config(row, "gpu")
        larger = {"batch_size": 64, "checkpoint_minutes": 1}
        assert gpu.training == replace(medium.training, **larger)
        assert gpu.network == medium.network == short.network
        assert medium.vocabulary == short.vocabulary
        known = asdict(short.network)
        starts = {"init": "matching", "first_position": 500, "lowest_frequency": 1e-4}
        assert {key: known[key] for key in starts if key in known}.items() <= starts.items()
        assert short.vocabulary.max_characters == 20


def test_a_budget_changes_networks_that_have_the_field(tmp_path: Path) -> None:
    text = STUDY.replace(
        "questions: 8,", "network: {heads: 1, init: random}, vocabulary: {word_count: 3},"
    )
    study = read_study(
        write(tmp_path, text.replace("config: fabir, paper", "config: bidaf, paper"))
    )
    one, other = (study.run_config(row, "short") for row in study.rows)
    assert one.network.init == "random"  # BiDAF, which has no heads
    assert other.network.heads == 2  # a row goes before its budget
    assert one.vocabulary.word_count == other.vocabulary.word_count == 3


def test_rows_and_budgets_change_the_configuration(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, STUDY))
    one, other = study.rows
    assert one.paper == {"f1": 77.6}
    config = study.run_config(other, "short")
    assert (config.network.heads, config.training.epochs, config.training.clip) == (2, 2, 3)
    assert study.run_config(other, "full").training.clip != 3
    assert study.run_config(one, "full").training.epochs == 54
    assert study.chosen(["other"]) == [other]
    assert study.chosen([]) == [one, other]


@pytest.mark.parametrize("file", ["table.yaml", "TABLE.YAML"])
def test_a_row_is_a_row_of_a_table_beside_the_study(tmp_path: Path, file: str) -> None:
    table = "base: {reader: fabir}\nrows:\n  one:\n  two: {network: {heads: 2}}\n"
    (tmp_path / file).write_text(table)
    study = STUDY.replace("config: fabir,", f"config: '{file}:two',")
    study = read_study(write(tmp_path, study))
    assert study.run_config(study.rows[0], "full").network.heads == 2


def run_configs(path: str) -> None:
    study = read_study(path)
    for row in study.rows:
        study.run_config(row, "short")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("title: Two of a kind", "", "study.yaml: title is missing$"),
        ("title: Two of a kind", "title:", "study.yaml: title has no value"),
        ("title: Two of a kind", "title: 3", "study.yaml: title must be a text, not 3"),
        ("source:", "ranked: 1\nsource:", "study.yaml: ranked must be true or false, not 1"),
        ("- {name: one, config: fabir, paper: {f1: 77.6}}", "- one", "row 1 must be keys and val"),
        ("- {name: one, ", "- {", "study.yaml: row 1: name is missing"),
        ("config: fabir, paper", "config: 3, paper", "row one: config must be a text, not 3"),
        (
            "paper: {f1: 77.6}",
            "paper: {f1: high}",
            "row one: paper.f1 must be a number, not 'high'",
        ),
        ("paper: {f1: 77.6}", "paper: 3", "row one: paper must be keys and values, not 3"),
        ("paper: {f1: 77.6}", "train: x.json", "row one: train must be a list, not 'x.json'"),
        ("{short: {clip: 3}}", "{short: 3}", "row other: training.short must be keys and values"),
        (
            "questions: 8",
            "questions: 2.5",
            "budget short: questions must be a whole number, not 2.5",
        ),
        ("  full:\n", "  full: 3\n", "study.yaml: budget full must be keys and values, not 3"),
        ("heads", "haeds", "haeds"),
        ("epochs: 2", "epochs: two", "epochs"),
        ("questions: 8", "question: 8", "budget short: .*question: did you mean questions"),
        ("questions: 8", "network: {haeds: 2}", "no reader has 'haeds': did you mean heads"),
        (
            "config: fabir, paper",
            "cofnig: fabir, paper",
            "row one: there is no key cofnig: did you mean config",
        ),
        ("source: nobody", "sourse: nobody", "there is no key sourse: did you mean source"),
        ("source:", "folder: x\nsource:", "no key folder: keys are base, budgets, dev"),
        ("budgets:\n  full:\n", "budgets: [full]\nother:\n", "no key other"),
        ("config: fabir, network", "config: nowhere.yaml, network", "nowhere.yaml"),
        ("config: fabir, network", "config: fabir-fast, network", "row other.*called crossconv"),
        ("budgets:\n  full:\n", "budgets: fabir\nother:\n", "no study is called 'fabir'"),
        ("- {name: other", "- {name: one", "two rows are called 'one'"),
        ("- {name: other", "- {name: one-seed-1", "row one-seed-1: runs with further seeds"),
        ("source:", "base: 'no'\nsource:", "base: 'no' is none of one, other"),
        ("{short: {clip", "{shrot: {clip", "row other: training: 'shrot' is none of full, short"),
        ("paper: {f1:", "paper: {F1:", "row one: paper: 'F1' is none of f1, exact"),
        ("f1: 77.6", "f1: .nan", "row one: paper.f1 must be a number, not nan"),
        ("f1: 77.6", f"f1: {'9' * 400}", "row one: paper.f1 must be a number"),
        ("questions: 8", "questions: -8", "budgets: questions must be at least 0, not -8"),
        *(
            ("name: one", f"name: {name}", "its folder cannot have this name")
            for name in ("../one", "..", "''", "a/b", ".one", "results.json", "further-one")
        ),
        *(
            ("paper: {f1: 77.6}", f"train: [{name}]", "is no name of a file beside the study's")
            for name in ("more/one.json", "''", "..", "/one.json")
        ),
    ],
)
def test_a_mistake_in_a_study_is_named(tmp_path: Path, old: str, new: str, named: str) -> None:
    path = write(tmp_path, STUDY.replace(old, new))
    with pytest.raises(InputError, match=named):
        run_configs(path)


def test_what_a_study_lacks_is_named(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, STUDY))
    with pytest.raises(InputError, match="no budget 'long', but full, short"):
        study.budget("long")
    with pytest.raises(InputError, match="no row 'two', but one, other"):
        study.chosen(["one", "two"])
    with pytest.raises(InputError, match="'fabir-tabel-1': did you mean fabir-table-1"):
        read_study("fabir-tabel-1")
    with pytest.raises(InputError, match=r"no study is called 'xx': name a .* fabir-table-1, "):
        read_study("xx")


def test_a_row_may_be_named_by_its_configuration() -> None:
    study = read_study("fabir-table-1")
    for name in ("no-characters", "fabir-no-characters"):
        assert [row.name for row in study.chosen([name])] == ["no-characters"]
    assert [row.name for row in study.chosen(["fabir-2-layers", "fabir"])] == ["fabir", "2-layers"]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 120))
def test_a_sample_has_whole_articles_and_enough_questions(sizes: list[int], wanted: int) -> None:
    passages = tuple(
        Passage(f"text {number}", f"title {number // 2}", (Question("q", "?", ()),) * size)
        for number, size in enumerate(sizes)
    )
    data = Dataset(passages, "1.1")
    part = sample(data, wanted)
    titles = {passage.title for passage in part.passages}
    assert part.passages == tuple(p for p in passages if p.title in titles)
    assert len(part) >= min(wanted, len(data))
    if 0 < wanted < len(data):
        assert len(part) < wanted + 10  # one article more at most
    else:
        assert part == data


def test_a_sample_is_spread_over_the_articles() -> None:
    passages = tuple(Passage("t", str(n), (Question("q", "?", ()),)) for n in range(64))
    chosen = [int(p.title) for p in sample(Dataset(passages, "1.1"), 8).passages]
    gaps = [b - a for a, b in pairwise(chosen)]
    assert gaps == [8] * 7
