"""A study of two tiny rows from its file to its report."""

import json
import multiprocessing
import os
import re
import shutil
from dataclasses import asdict, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabir.answer.files import no_answer_probabilities, predictions, read_dataset
from fabir.answer.predictor import Predictor
from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError
from fabir.evaluation.squad import evaluate, evaluate_by_halves
from fabir.runtime.torch_model import TorchModel
from fabir.studies import runner
from fabir.studies.results import Table, report
from fabir.studies.runner import reproduce
from fabir.studies.study import Study, read_study
from fabir.training.config_files import load_config
from fabir.training.inputs import RunFiles
from fabir.training.settings import RunConfig
from factories import PUBLISHED, published_study
from tiny import NETWORK, TRAINING, Files


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two rows beside their study, whose budget has one epoch."""
    folder = tmp_path_factory.mktemp("study")
    config = {"reader": "fabir", "network": NETWORK, "training": TRAINING}
    (folder / "row.yaml").write_text(yaml.safe_dump(config))
    content = {
        "title": "Tiny",
        "source": "invented",
        "budgets": {"one": {"questions": 10, "dev_questions": 5, "training": {"epochs": 1}}},
        "rows": [
            {"name": "plain", "config": "row.yaml", "paper": {"f1": 50, "parameters": 1000}},
            {"name": "wide", "config": "row.yaml", "network": {"one": {"model_dim": 32}}},
        ],
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(content))
    return read_study(str(folder / "study.yaml"))


def run_files(train: Path, dev: Path, vectors: Path) -> RunFiles:
    return RunFiles(train=(train,), dev=dev, vectors=vectors, on_bad_answer="skip")


def data(files: Files) -> RunFiles:
    """Files that are not called what their samples are."""
    train, dev = (path.with_name(f"all-{path.name}") for path in (files.train, files.dev))
    shutil.copy(files.train, train)
    shutil.copy(files.dev, dev)
    return run_files(train, dev, files.vectors)


@pytest.fixture(scope="module")
def done(study: Study, files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("done")
    assert reproduce(study, "one", data(files), folder) == folder / "report.md"
    return folder


def test_rows_are_trained_on_the_sample_and_measured(study: Study, done: Path) -> None:
    results = json.loads((done / "results.json").read_text())
    assert list(results["rows"]) == ["plain", "wide"]
    total = len(read_squad(done / "dev.json.gz"))
    assert 5 <= total < 8
    assert 10 <= len(read_squad(done / "train.json.gz")) < 19
    for name, (row,) in results["rows"].items():
        assert (row["total"], row["epochs"]) == (total, 1)
        assert row["training_rate"] > 0 < row["answering_rate"]
        config = asdict(study.run_config(study.chosen([name])[0], "one"))
        assert row["conditions"]["config"] == json.loads(json.dumps(config))
        network = TorchModel.load(done / name).network
        lines = (done / name / "metrics.jsonl").read_text().splitlines()
        curve = list(map(json.loads, lines))
        assert row["f1"] == max(each["f1"] for each in curve if "f1" in each)
        assert row["curve"] == [
            {key: each[key] for key in ("epoch", "loss", "exact", "f1") if key in each}
            for each in curve
        ]
        assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", row["conditions"]["commit"])
        assert row["parameters"] == sum(p.numel() for p in network.parameters())


def test_thresholds_are_not_chosen_on_the_questions_they_are_used_on(
    study: Study, files: Files, tmp_path: Path
) -> None:
    """They are 0.5, the papers' rule, and the best one of other articles."""
    made = data(files)
    for path in (*made.train, made.dev):
        assert path
        passages = []
        for passage in read_squad(path).passages:
            first, *others = passage.questions
            asked = replace(first, answers=(), impossible=True), *others
            passages.append(replace(passage, questions=asked))
        write_squad(Dataset(tuple(passages), "v2.0"), path)
    folder = tmp_path / "runs"
    written = reproduce(study, "one", made, folder, ["plain"]).read_text()
    (row,) = json.loads((folder / "results.json").read_text())["rows"]["plain"]
    dev, reader = read_squad(folder / "dev.json.gz"), Predictor(TorchModel.load(folder / "plain"))
    found = dict(read_dataset(reader, dev))
    texts = predictions(found, lambda reading: reading.given(0.5))
    assert row["papers_rule_f1"] == evaluate(dev, texts)["f1"]
    halves = evaluate_by_halves(dev, predictions(found), no_answer_probabilities(found))
    assert {key: row[f"by_halves_{key}"] for key in halves} == halves
    assert f"| {row['papers_rule_f1']:.2f} | {row['papers_rule_exact']:.2f} |" in written


def test_a_row_may_have_training_files_of_its_own(
    study: Study, files: Files, tmp_path: Path
) -> None:
    plain, wide = study.rows
    more = replace(study, rows=(replace(plain, train=("more.json",)), wide))
    used = run_files(tmp_path / "train.json", files.dev, files.vectors)
    shutil.copy(files.train, tmp_path / "train.json")
    with pytest.raises(InputError, match=r"row plain trains on .*more.json too, .* not there"):
        reproduce(more, "one", used, tmp_path / "a", ["plain"])
    shutil.copy(files.train, tmp_path / "more.json")
    reproduce(more, "one", used, tmp_path / "a")
    steps = {
        name: json.loads((tmp_path / "a" / name / "metrics.jsonl").read_text().splitlines()[-1])
        for name in ("plain", "wide")
    }
    assert steps["plain"]["step"] > steps["wide"]["step"]
    assert "data and more.json for plain" in (tmp_path / "a" / "report.md").read_text()
    with pytest.raises(InputError, match="train"):
        reproduce(study, "one", used, tmp_path / "a")


def test_a_rows_file_may_be_called_what_the_main_sample_is(
    study: Study, files: Files, tmp_path: Path
) -> None:
    """The row is trained on a sample of it, not on the main sample twice."""
    plain = replace(study.rows[0], train=("train.json",))
    used = data(files)
    assert used.train[0].with_name("train.json") == files.train
    records = json.loads(files.train.read_text())
    for article in records["data"]:
        article["title"] = "another"
    files.train.write_text(json.dumps(records))
    reproduce(replace(study, rows=(plain,)), "one", used, tmp_path / "a")
    own = read_squad(tmp_path / "a" / "further-train.json.json.gz")
    assert {passage.title for passage in own.passages} == {"another"}
    steps = json.loads((tmp_path / "a" / "plain" / "metrics.jsonl").read_text().splitlines()[-1])
    assert steps["step"] > len(list(own.questions)) / TRAINING["batch_size"] + 1


def test_a_row_that_diverges_does_not_keep_others_from_their_results(
    study: Study, files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, wide = study.rows
    wild = replace(plain, training={"one": {"learning_rate": 1e38, "schedule": "constant"}})
    both = replace(study, rows=(wild, wide))
    for missing in (2, 1):
        with pytest.raises(InputError, match="rows without a result, for the reasons above: plain"):
            reproduce(both, "one", data(files), tmp_path)
        said = capsys.readouterr().err
        assert f"row 1 of {missing}: plain" in said
        assert re.search(r"row plain: .*train with a lower training\.learning_rate", said)
        assert list(json.loads((tmp_path / "results.json").read_text())["rows"]) == ["wide"]


def test_the_report_has_ours_beside_the_papers(done: Path) -> None:
    results = json.loads((done / "results.json").read_text())
    page = (done / "report.md").read_text()
    assert page.startswith("# Tiny: budget one\n")
    f1 = results["rows"]["plain"][0]["f1"]
    assert f"| plain | {f1:.2f} | 50.0 | {f1 - 50:+.2f} |" in page
    assert "Changed from the rows' configurations: model_dim 32 for wide." in page
    assert "not run yet" not in page.lower()


def test_what_is_measured_is_not_trained_again(
    study: Study, files: Files, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: (done / name).read_bytes() for name in ("results.json", "report.md")}
    (done / "report.md").unlink()
    monkeypatch.delattr(runner, "train")
    reproduce(study, "one", data(files), done)
    assert {name: (done / name).read_bytes() for name in before} == before
    (done / "report.md").unlink()
    (done / ".results.json.abcdefg_.partial").touch()  # a killed process left it
    assert report(study, done) == done / "report.md"
    assert not list(done.glob("*.partial"))
    assert {name: (done / name).read_bytes() for name in before} == before


def test_compressed_data_is_the_same_data(files: Files, study: Study, done: Path) -> None:
    """So that a published table can be gone on with, whatever form the files are in."""
    whole = data(files)
    paths = (str(path) for path in (*whole.train, whole.dev, whole.vectors))
    other = (p.removesuffix(".gz") if p.endswith(".gz") else f"{p}.GZ" for p in paths)
    assert reproduce(study, "one", run_files(*map(Path, other)), done) == done / "report.md"


def test_seeds_are_added_later(study: Study, files: Files, done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    reproduce(study, "one", data(files), tmp_path, ["plain"], seeds=2)
    before = json.loads((done / "results.json").read_text())["rows"]
    after = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert (after["plain"][:1], after["wide"]) == (before["plain"], before["wide"])
    assert len(after["plain"]) == 2
    first, second = (
        (tmp_path / name / "network.safetensors").read_bytes() for name in ("plain", "plain-seed-1")
    )
    assert first != second
    assert " ± " in (tmp_path / "report.md").read_text()


def test_a_run_that_broke_off_goes_on(
    study: Study, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(runner, "best_scores", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reproduce(study, "one", data(files), tmp_path, ["plain"])
    trained = (tmp_path / "plain" / "network.safetensors").read_bytes()
    rows = replace(study.rows[0], training={"one": {"clip": 3.0}}), study.rows[1]
    with pytest.raises(InputError, match=r"training.clip unset for plain, and now it is 3.0"):
        reproduce(replace(study, rows=rows), "one", data(files), tmp_path, ["plain"])
    assert report(study, tmp_path).exists()  # which forgets nothing
    page = reproduce(study, "one", data(files), tmp_path, ["plain"])
    assert (tmp_path / "plain" / "network.safetensors").read_bytes() == trained
    assert "Not run yet: wide." in page.read_text()


def test_other_data_or_budgets_need_another_folder(study: Study, files: Files, done: Path) -> None:
    before = (done / "results.json").read_bytes()
    with pytest.raises(
        InputError, match=r"with data.train .*, and now it is .*: name another fold"
    ):
        reproduce(study, "one", run_files(files.dev, files.dev, files.vectors), done)
    another = replace(study, title="Another")
    with pytest.raises(InputError, match="made with title Tiny, and now it is Another: name"):
        reproduce(another, "one", data(files), done)
    with pytest.raises(InputError, match="made with title Tiny, and now it is Another: name"):
        report(another, done)
    rows = study.rows[0], replace(study.rows[1], network={"one": {"model_dim": 16}})
    with pytest.raises(InputError, match=r"network.model_dim 32 for wide, and now it is 16: name"):
        reproduce(replace(study, rows=rows), "one", data(files), done)
    assert (done / "results.json").read_bytes() == before


def test_a_configuration_that_has_changed_needs_another_folder(
    study: Study, files: Files, done: Path, tmp_path: Path
) -> None:
    network = {**NETWORK, "feed_forward": 13}
    config = {"reader": "fabir", "network": network, "training": TRAINING}
    (tmp_path / "row.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(InputError, match=r"made with config.network.feed_forward .* now it is 13"):
        reproduce(replace(study, folder=tmp_path), "one", data(files), done)


@pytest.mark.parametrize("vectors", ["", "small.txt"])
def test_vectors_of_another_size_are_told_if_the_budget_did_not_name_them(
    study: Study,
    files: Files,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    vectors: str,
) -> None:
    config = {"reader": "fabir", "network": NETWORK, "training": TRAINING, "vectors": {"dim": 700}}
    (tmp_path / "row.yaml").write_text(yaml.safe_dump(config))
    budget = replace(study.budgets["one"], vectors=vectors)
    study = replace(study, rows=study.rows[:1], budgets={"one": budget}, folder=tmp_path)
    reproduce(study, "one", data(files), tmp_path / "out")
    assert ("meant for 700" in capsys.readouterr().err) == (not vectors)


def test_a_budget_may_say_what_was_the_rows_own(
    study: Study, files: Files, done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results keep the budget that they have; a budget that changes a row is refused."""
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    monkeypatch.delattr(runner, "train")
    budget = study.budgets["one"]
    said = replace(
        budget,
        training={**budget.training, "clip": 0, "optimiser": "adamw"},
        network={"first_position": 500, "init": "random"},
        vocabulary={"max_characters": 20},
    )
    reproduce(replace(study, budgets={"one": said}), "one", data(files), tmp_path)
    for name in ("results.json", "report.md"):
        assert (tmp_path / name).read_bytes() == (done / name).read_bytes()
    other = replace(said, network={"first_position": 1})
    with pytest.raises(InputError, match=r"config.network.first_position 500 for plain, and now"):
        reproduce(replace(study, budgets={"one": other}), "one", data(files), tmp_path)
    other = replace(budget, training={"epochs": 2})
    with pytest.raises(InputError, match=r"with budget.training.epochs 1, and now it is 2"):
        reproduce(replace(study, budgets={"one": other}), "one", data(files), tmp_path)


def test_options_that_came_later_change_nothing(
    study: Study, files: Files, done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = json.loads((done / "results.json").read_text())
    for (run,) in results["rows"].values():
        del run["conditions"]["config"]["network"]["first_position"]
    (tmp_path / "results.json").write_text(json.dumps(results))
    monkeypatch.delattr(runner, "train")
    reproduce(study, "one", data(files), tmp_path)
    config = {"reader": "fabir", "network": {**NETWORK, "first_position": 2}, "training": TRAINING}
    (tmp_path / "row.yaml").write_text(yaml.safe_dump(config))
    other = replace(study, folder=tmp_path)
    with pytest.raises(InputError, match=r"first_position 500 for plain, and now it is 2"):
        reproduce(other, "one", data(files), tmp_path)


def test_results_with_keys_of_old_names_can_be_gone_on_with(
    study: Study, files: Files, done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (done / "results.json").read_text()
    assert "questions_per_passage" in text
    old = text.replace("questions_per_passage", "questions_together")
    (tmp_path / "results.json").write_text(old)
    monkeypatch.delattr(runner, "train")
    reproduce(study, "one", data(files), tmp_path)
    (tmp_path / "results.json").write_text(
        old.replace('"questions_together": 1', '"questions_together": 2')
    )
    with pytest.raises(InputError, match=r"made with config.training.questions_per_passage 2"):
        reproduce(study, "one", data(files), tmp_path)


def test_results_with_values_of_old_names_can_be_gone_on_with(files: Files, tmp_path: Path) -> None:
    table = Table(read_study("readers"), "short", data(files), tmp_path)
    (run,) = table.runs(["bidaf"], 1)
    conditions = json.loads(json.dumps(run.settings))
    assert conditions["config"]["network"].pop("init") == "matching"
    results = {"rows": {"bidaf": [{"conditions": conditions}]}}
    conditions["config"]["network"]["cross_start"] = "alike"
    table.check(results)
    conditions["config"]["network"]["cross_start"] = "random"
    with pytest.raises(InputError, match=r"network.init random for bidaf, and now it is matching"):
        table.check(results)


def test_the_folder_of_a_run_that_broke_off_at_once_is_its_budgets(
    study: Study, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    larger = replace(study.budgets["one"], questions=15)
    study = replace(study, budgets={**study.budgets, "two": larger})
    with monkeypatch.context() as patch:
        patch.setattr(runner, "write_squad", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reproduce(study, "one", data(files), tmp_path)
    with pytest.raises(InputError, match=r"with budget.name one, and now it is two"):
        reproduce(study, "two", data(files), tmp_path)


def test_a_row_that_cannot_be_built_is_found_at_once_and_may_be_corrected(
    study: Study, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(study.rows[1], network={"one": {"heads": 5}})
    with monkeypatch.context() as patch:
        patch.delattr(runner, "train")  # not of the row before it either
        with pytest.raises(InputError, match=r"^row wide.*: heads must divide model_dim: 5 do not"):
            reproduce(replace(study, rows=(study.rows[0], wrong)), "one", data(files), tmp_path)
    misspelt = replace(wrong, network={"one": {"hedas": 5}})
    with pytest.raises(InputError, match=r"^row wide, budget one: .*hedas"):
        reproduce(replace(study, rows=(study.rows[0], misspelt)), "one", data(files), tmp_path)
    reproduce(study, "one", data(files), tmp_path, ["plain"])
    assert "begun" not in json.loads((tmp_path / "results.json").read_text())


def test_a_training_of_unknown_settings_is_not_gone_on_with(
    study: Study, files: Files, done: Path, tmp_path: Path
) -> None:
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    results = json.loads((done / "results.json").read_text())
    del results["rows"]["wide"]
    (tmp_path / "results.json").write_text(json.dumps(results))
    with pytest.raises(InputError, match=r"wide holds a training of which .*: remove it"):
        reproduce(study, "one", data(files), tmp_path)


def test_another_first_seed_is_no_second_run(
    study: Study, files: Files, done: Path, tmp_path: Path
) -> None:
    rows = tuple(replace(row, training={"one": {"seed": 5}}) for row in study.rows)
    with pytest.raises(InputError, match=r"with training.seed unset for plain, and now it is 5"):
        reproduce(replace(study, rows=rows), "one", data(files), done)
    training = {**TRAINING, "seed": 5}
    config = {"reader": "fabir", "network": NETWORK, "training": training}
    (tmp_path / "row.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(InputError, match=r"config.training.seed 0 for plain, and now it is 5"):
        reproduce(replace(study, folder=tmp_path), "one", data(files), done)


@pytest.mark.parametrize("results", PUBLISHED, ids=[path.parent.name for path in PUBLISHED])
def test_published_tables_can_be_gone_on_with(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But those of FABIR's rows with matching initialisation, which it has no more."""
    monkeypatch.delattr(runner, "train")
    shutil.copy(results, tmp_path)
    known = json.loads(results.read_text())
    files = run_files(*(Path(known["data"][name]) for name in ("train", "dev", "vectors")))
    asked = published_study(results), known["budget"]["name"], files, tmp_path, list(known["rows"])
    if "cross_start" in json.dumps(known["rows"].get("fabir", "")):
        with pytest.raises(InputError, match=r"network.init matching for fabir, and now"):
            reproduce(*asked)
        page = report(published_study(results), tmp_path)
    else:
        page = reproduce(*asked)
    assert page.read_text() == (results.parent / "report.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "row"), [("fabir-table-2", "bidaf"), ("qanet-ablation", "qanet")])
def test_the_full_budget_trains_as_published(
    name: str, row: str, files: Files, tmp_path: Path
) -> None:
    """Networks and recipes of full size, but for two epochs of as few questions as there are."""
    study = read_study(name)
    (chosen,) = study.chosen([row])
    study = replace(study, rows=(replace(chosen, training={"full": {"epochs": 2}}),))
    reproduce(study, "full", data(files), tmp_path)
    (measured,) = json.loads((tmp_path / "results.json").read_text())["rows"][row]
    config = load_config(chosen.config)
    config = replace(config, training=replace(config.training, epochs=2))
    assert measured["conditions"]["config"] == json.loads(json.dumps(asdict(config)))
    assert measured["epochs"] == 2
    assert measured["parameters"] > 1e6


def test_two_processes_share_the_rows(
    study: Study,
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While a row is trained another run of the study leaves it alone, and trains the other."""
    trained: list[str] = []
    train = runner.train

    def other_process_first(
        config: RunConfig, used: RunFiles, folder: Path, **options: Any
    ) -> float:
        trained.append(folder.name)
        if folder.name == "plain":
            reproduce(study, "one", whole, tmp_path)
        return train(config, used, folder, **options)

    whole = data(files)
    monkeypatch.setattr(runner, "train", other_process_first)
    reproduce(study, "one", whole, tmp_path)
    assert trained == ["plain", "wide"]
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [(name, len(runs)) for name, runs in rows.items()] == [("wide", 1), ("plain", 1)]
    said = capsys.readouterr().err
    assert "row plain is being trained by another process" in said
    assert "row wide was measured by another process" in said


@pytest.mark.slow
def test_each_row_has_a_process_on_a_gpu_of_its_own(
    study: Study,
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Three GPUs that there are not, for two rows: processes find none, and train without."""
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    monkeypatch.delattr(runner, "train")  # of this process
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5,7")
    start, started = BaseProcess.start, []

    def noted(process: BaseProcess) -> None:
        started.append(os.environ["CUDA_VISIBLE_DEVICES"])
        start(process)

    monkeypatch.setattr(BaseProcess, "start", noted)
    reproduce(study, "one", data(files), tmp_path)
    assert started == ["3", "5"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3,5,7"
    assert set(json.loads((tmp_path / "results.json").read_text())["rows"]) == {"plain", "wide"}
    assert capfd.readouterr().err.count("row 1 of 2: plain") >= 1


@pytest.mark.slow
def test_a_gpus_process_that_fails_says_why_in_a_line(
    study: Study,
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    here = os.getpid()
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2 * (os.getpid() == here))
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: fork)
    gone = run_files(files.train, files.dev, tmp_path / "gone.txt")
    with pytest.raises(SystemExit, match="2"):
        reproduce(study, "one", gone, tmp_path / "new")
    lines = capfd.readouterr().err.splitlines()
    assert sum("fabir reproduce: no vector file" in line for line in lines) == 2
    assert not any("Traceback" in line for line in lines)


def test_a_launchers_processes_are_refused(
    study: Study, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(InputError, match="run it without torchrun or accelerate"):
        reproduce(study, "one", data(files), tmp_path)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"rows": {"plain": [{"f1": 1.0}]}}', '{"rows": {}}']
)
def test_what_is_no_result_is_refused(
    study: Study, files: Files, tmp_path: Path, content: str
) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(InputError, match="not of a study, or of an older fabir"):
        reproduce(study, "one", data(files), tmp_path)
    with pytest.raises(InputError, match="not of a study, or of an older fabir"):
        report(study, tmp_path)
