"""Programs for the question-answering pipeline of transformers 4 run with one changed import.

They have the forms of model cards, tutorials and questions on forums, in words of our own. Each
leaves its results in `found`. `SHAPES` has the form that transformers 4.57.3 gave these: "D" is a
dict with the keys of an answer.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabir.answer.predictor import Predictor

TEXTS = """
from fabir import pipeline

context = (
    "The ferry to Holm leaves at 7:40 from pier four. Bicycles cost three crowns extra. "
    "Captain Ida Lund has sailed the route since 1998, and her dog Pelle comes along."
)
question = "When does the ferry to Holm leave?"
questions = [question, "Who has sailed the route since 1998?", "What do bicycles cost?"]
"""

CALLS = {
    "the quick tour": """
qa = pipeline("question-answering")
found = qa(question=question, context=context)
print(f"{found['answer']!r}, score {round(found['score'], 4)}, {found['start']}-{found['end']}")
""",
    "the default model by its name": """
qa = pipeline("question-answering", model="distilbert-base-cased-distilled-squad")
found = qa(question=question, context=context)
""",
    "a pinned revision": """
name = "distilbert/distilbert-base-cased-distilled-squad"
qa = pipeline("question-answering", model=name, revision="626af31")
found = qa(question=question, context=context)
""",
    "a model card": """
model_name = "deepset/roberta-base-squad2"
nlp = pipeline('question-answering', model=model_name, tokenizer=model_name)
QA_input = {
    'question': question,
    'context': context
}
found = nlp(QA_input)
""",
    "no task": """
oracle = pipeline(model="deepset/tinyroberta-squad2")
found = oracle(question=question, context=context)
""",
    "names as positional arguments": """
name = "deepset/minilm-uncased-squad2"
qa = pipeline("question-answering", name, None, name)
found = qa(question, context)
""",
    "a tokenizer with options": """
qa = pipeline(
    task="question-answering",
    model="ktrapeznikov/albert-xlarge-v2-squad-v2",
    tokenizer=("ktrapeznikov/albert-xlarge-v2-squad-v2", {"use_fast": False}),
)
found = qa(question=question, context=context)
""",
    "a device and half precision": """
import torch
device = 0 if torch.cuda.is_available() else -1
qa = pipeline(
    "question-answering",
    model="deepset/deberta-v3-base-squad2",
    device=device,
    torch_dtype=torch.float16,
)
found = qa(question=question, context=context)
""",
    "devices by accelerate": """
qa = pipeline(
    "question-answering",
    model="deepset/xlm-roberta-base-squad2",
    device_map="auto",
    model_kwargs={"low_cpu_mem_usage": True},
)
found = qa(question=question, context=context)
""",
    "a private model": """
qa = pipeline(
    "question-answering",
    model="acme/legal-longformer-qa",
    token="hf_none",
    trust_remote_code=False,
    use_fast=True,
)
found = qa(question=question, context=context)
""",
    "a framework": """
name = "bert-large-uncased-whole-word-masking-finetuned-squad"
qa = pipeline("question-answering", model=name, framework="pt")
found = qa({"question": question, "context": context})
""",
    "a checkpoint of one's own": """
qa = pipeline("question-answering", model="./checkpoint-500", tokenizer="./checkpoint-500")
found = qa(question=question, context=context)
""",
    "several answers": """
qa = pipeline("question-answering", model="distilbert-base-uncased-distilled-squad")
found = qa(question=question, context=context, top_k=3)
for number, each in enumerate(found, 1):
    print(number, each["answer"], f"{each['score']:.2%}")
""",
    "several answers under the former name": """
nlp = pipeline("question-answering")
found = nlp(question=question, context=context, topk=2)
""",
    "an answer that may be empty": """
qa = pipeline("question-answering", model="deepset/roberta-large-squad2")
found = qa(question="Who wrote Hamlet?", context=context, handle_impossible_answer=True)
answer = found["answer"] or "not in the text"
""",
    "lengths of everything": """
qa = pipeline("question-answering", model="mrm8488/bert-tiny-5-finetuned-squadv2")
found = qa(
    question=question,
    context=context * 20,
    max_answer_len=30,
    max_question_len=32,
    max_seq_len=384,
    doc_stride=128,
)
""",
    "options of the tokenizer": """
qa = pipeline("question-answering", truncation=True, padding=True)
lengths = {"padding": "max_length", "truncation": "only_second", "max_seq_len": 64}
found = qa(question=question, context=context, **lengths)
""",
    "no whole words": """
qa = pipeline("question-answering", model="cl-tohoku/bert-base-japanese-qa")
found = qa(question=question, context=context, align_to_words=False)
""",
    "many questions about one text": """
qa = pipeline("question-answering", model="deepset/electra-base-squad2")
found = qa(question=questions, context=context)
for asked, each in zip(questions, found):
    print(asked, each["answer"])
""",
    "lists of questions and texts": """
qa = pipeline("question-answering", batch_size=8)
found = qa(question=questions, context=[context] * len(questions), top_k=2)
""",
    "a dict of lists": """
qa = pipeline("question-answering")
found = qa({"question": questions, "context": [context] * len(questions)})
""",
    "a dict of lists with one question": """
qa = pipeline("question-answering")
found = qa({"question": [question], "context": [context]})
""",
    "a list of dicts": """
qa = pipeline("question-answering", device=-1)
found = qa([{"question": each, "context": context} for each in questions], batch_size=4)
answers = [each["answer"] for each in found]
""",
    "a list with one dict": """
qa = pipeline("question-answering")
found = qa([{"question": question, "context": context}])
""",
    "dicts one after another": """
qa = pipeline("question-answering", model="twmkn9/albert-base-v2-squad2")
first, second = ({"question": each, "context": context} for each in questions[:2])
found = qa(first, second, handle_impossible_answer=True)
""",
    "data": """
qa = pipeline("question-answering")
found = qa(data={"question": question, "context": context})
""",
    "scikit-learn": """
qa = pipeline("question-answering")
found = qa.predict([{"question": each, "context": context} for each in questions])
again = qa(X=[{"question": each, "context": context} for each in questions])
assert [each["answer"] for each in again] == [each["answer"] for each in found]
""",
    "samples": """
qa = pipeline("question-answering")
examples = qa.create_sample(question=questions, context=[context] * len(questions))
found = qa(examples, max_answer_len=10)
""",
    "a generator": """
def pairs():
    for each in questions:
        yield {"question": each, "context": context}

qa = pipeline("question-answering", device_map="auto")
found = []
for each in qa(pairs(), batch_size=2, num_workers=0):
    found.append(each)
""",
    "a dataset of torch": """
from torch.utils.data import Dataset

class Questions(Dataset):
    def __len__(self):
        return len(questions)

    def __getitem__(self, row):
        return {"id": row, "question": questions[row], "context": context}

qa = pipeline("question-answering", model="google/bigbird-base-trivia-itc")
found = [each for each in qa(Questions(), batch_size=8)]
""",
    "a column of a dataset": """
from torch.utils.data import Dataset

class KeyDataset(Dataset):
    def __init__(self, dataset, key):
        self.dataset, self.key = dataset, key

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, row):
        return self.dataset[row][self.key]

rows = [{"id": 7, "asked": {"question": each, "context": context}} for each in questions]
qa = pipeline("question-answering")
found = [each for each in qa(KeyDataset(rows, "asked"))]
""",
    "a stream of torch": """
from torch.utils.data import IterableDataset

class Stream(IterableDataset):
    def __iter__(self):
        for each in questions:
            yield {"question": each, "context": context}

qa = pipeline("question-answering")
found = list(qa(Stream()))
""",
    "a table": """
rows = zip(range(3), questions, [context] * 3)
qa = pipeline("question-answering", model="valhalla/longformer-base-4096-finetuned-squadv1")
found = []
for number, asked, text in rows:
    result = qa(question=asked, context=text)
    if result["score"] >= 0.0:
        found.append(result)
""",
    "an iterator": """
qa = pipeline("question-answering")
found = qa(map(lambda each: {"question": each, "context": context}, questions))
""",
    "the best of several texts": """
qa = pipeline("question-answering", model="Intel/dynamic_tinybert")
texts = context.split(". ")
candidates = [qa(question=question, context=text, top_k=1) for text in texts]
found = max(candidates, key=lambda each: each["score"])
""",
    "a model that is saved": """
qa = pipeline("question-answering")
qa.save_pretrained("saved", safe_serialization=True)
with qa.device_placement():
    again = pipeline("question-answering", model="saved", tokenizer="saved")
found = again(question=question, context=context)
print(qa.task, qa.device, qa.device.type, type(qa.model).__name__, qa.framework)
print(qa.tokenizer("a text"))
""",
}

LISTS = {"several answers": 3, "several answers under the former name": 2}
LISTS |= {"a dict of lists with one question": 1, "dicts one after another": 2}
LISTS |= dict.fromkeys(
    [
        "many questions about one text",
        "a dict of lists",
        "a list of dicts",
        "scikit-learn",
        "samples",
        "a generator",
        "a dataset of torch",
        "a column of a dataset",
        "a stream of torch",
        "a table",
        "an iterator",
    ],
    3,
)
SHAPES: dict[str, Any] = {name: ["D"] * LISTS[name] if name in LISTS else "D" for name in CALLS}
SHAPES["lists of questions and texts"] = [["D", "D"]] * 3


def shape(found: Any) -> Any:
    if isinstance(found, dict):
        return "D" if list(found) == ["score", "start", "end", "answer"] else found
    return [shape(each) for each in found] if isinstance(found, list) else type(found)


def flat(found: Any) -> Iterator[dict[str, Any]]:
    if isinstance(found, dict):
        yield found
    else:
        for each in found:
            yield from flat(each)


@pytest.fixture(scope="module")
def fast() -> Predictor:
    return Predictor.load()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_the_former_pipeline(
    name: str, fast: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkpoint-500").mkdir()
    (tmp_path / "checkpoint-500" / "config.json").write_text('{"model_type": "bert"}')
    monkeypatch.setattr(Predictor, "load", lambda _: fast)  # each program would load it again
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(TEXTS + CALLS[name], name, "exec"), names)
    assert shape(names["found"]) == SHAPES[name]
    for each in flat(names["found"]):
        assert 0 <= each["score"] <= 1
        assert each["end"] - each["start"] == len(each["answer"])
        assert each["answer"] in names["context"]


def test_there_are_thirty_of_them() -> None:
    assert len(CALLS) >= 30
