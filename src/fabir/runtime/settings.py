"""`config.json` of a model's folder: its fields, their checks, and its checksum.

This module handles JSON and numbers. `runtime.store` handles the other files of the folder.
"""

import hashlib
import json
import math
import reprlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fabir.errors import InputError

SETTINGS = "config.json"
FORMAT = 2
_OLD = 1  # without checksums
_MOST_NAMED = 5  # models in an error
_MOST_BYTES = 1 << 20  # of config.json
FURTHEST = 3.0  # search scores of passages further behind count as so far behind


@dataclass(frozen=True)
class Calibration:
    """The probability that an answer from a search is right: the logistic function of

        bias + search * highest
            + reader * (log(score) + answerable * log(1 - no_answer) - lead * behind)
            + unknown_name

    `score` and `no_answer` are the model's. `highest` is the search score of the best passage with
    a credible answer. `behind` is how much less the answer's own passage has, at most 3: the best
    passage rules out no other one. `unknown_name` counts only if the question has a name
    that the answer's document lacks. The neutral default is not fitted to any model. It
    ranks answers by the product of `score` and `exp(-behind)`, and withholds none.
    `benchmarks/calibration.py` fits the numbers of a model.

    Args:
        least: answers with a lower probability are withheld
    """

    bias: float = 0.0
    search: float = 0.0
    reader: float = 1.0
    lead: float = 1.0
    least: float = 0.0
    answerable: float = 0.0
    unknown_name: float = 0.0

    def likely(
        self, own: float, highest: float, score: float, no_answer: float, unknown_name: bool
    ) -> float:
        """The probability that an answer is right."""
        behind = min(max(highest - own, 0.0), FURTHEST)
        read = math.log(max(score, 1e-30)) - self.lead * behind
        read += self.answerable * math.log(max(1 - no_answer, 1e-30))
        found = self.bias + self.search * highest + self.unknown_name * unknown_name
        return _logistic(found + self.reader * read)


NEUTRAL = Calibration()


@dataclass(frozen=True)
class Confidence:
    """Two calibrated probabilities, each a logistic function of ten features of an answer:

    - 1
    - `span`: the logarithm of the probability of its first word times that of its last
    - `place`: that of the probability that the true answer begins within it, times ends within it;
      both are summed over all places with the same words, in upper or lower case
    - `head`: the logit of no answer in its window, of a network with a head for it, else 0
    - `windows`: the logarithm of the number of the passage's windows
    - `windows` times each of `span`, `place` and `head`
    - `elsewhere`: the logarithm of one minus the probability of `place`, at least log 0.01
    - `elsewhere` times `windows`

    Args:
        score: weights of the features, in this order, for the answer being right if the passage has
            one: its F1 with a true answer is at least 0.5. Without weights the score is the span's
            probability
        no_answer: weights for the passage having no answer, of the best answer's features
    """

    score: tuple[float, ...] = ()
    no_answer: tuple[float, ...] = ()


FEATURES = (  # of a `Confidence`
    *("bias", "span", "place", "head", "windows"),
    *("span x windows", "place x windows", "head x windows"),
    *("elsewhere", "elsewhere x windows"),
)
UNCALIBRATED = Confidence()


@dataclass(frozen=True)
class Settings:
    """The contents of a model's `config.json`.

    Args:
        reader: the name of the architecture
        network: the fields of its config
        no_answer_threshold: above this no-answer probability there is no answer
        files: SHA-256 of every other file of the folder by name; empty in the old format
    """

    reader: str
    network: dict[str, Any]
    no_answer_threshold: float = 1.0
    calibration: Calibration = NEUTRAL
    confidence: Confidence = UNCALIBRATED
    files: dict[str, str] = field(default_factory=dict)

    @property
    def old(self) -> bool:
        """Whether the folder has no checksums."""
        return not self.files


def read_states(folder: Path) -> list[Settings]:
    """The settings of a folder: one state, or two after an interrupted write.

    The second state is the one that was being written. The checksums of the files show which of the
    two the folder is in.

    Raises:
        InputError: `config.json` is missing, damaged or of another version.
    """
    path = folder / SETTINGS
    if folder.is_dir() and not path.exists():
        raise InputError(_no_model(folder))
    content = read_json(path, {"format", "reader", "network"}, _MOST_BYTES)
    version = content["format"]
    if version not in (_OLD, FORMAT) or type(version) is not int:
        raise InputError(
            f"{path}: format {reprlib.repr(version)} is neither {_OLD} nor {FORMAT}: "
            "the model was saved by another version of fabir"
        )
    if version == FORMAT and content.get("checksum") != _checksum(content):
        raise InputError(
            f"{path} was damaged or changed: its checksum is wrong. Copy or download the model's "
            "folder again, or save the model again"
        )
    following = content.get("next")
    states = [content] if following is None else [content, following]
    if version == _OLD:
        return [replace(_settings(path, content), files={})]
    found = [_settings(path, each) for each in states]
    if any(each.old for each in found):
        raise InputError(f"{path} names no files: save the model again")
    return found


def _no_model(folder: Path) -> str:
    """The error for a folder without settings, with the models that lie in it."""
    inside = sorted(str(path.parent) for path in folder.glob(f"*/{SETTINGS}"))
    named = f"; it holds {', '.join(inside[:_MOST_NAMED])}" if inside else ""
    more = f" and {len(inside) - _MOST_NAMED} more" if len(inside) > _MOST_NAMED else ""
    return f"{folder} is not a model's folder: there is no {folder / SETTINGS}{named}{more}"


def format_states(settings: Settings, following: Settings | None = None) -> dict[str, Any]:
    """The contents of `config.json` for `settings`, with the state that is being written."""
    content = {"format": FORMAT, **asdict(settings)}
    if following is not None:
        content["next"] = asdict(following)
    content["checksum"] = _checksum(content)
    return content


def read_json(path: Path, required: set[str], most_bytes: int) -> dict[str, Any]:
    """Read a JSON object with at least the `required` keys; an InputError names its fault."""
    try:
        if path.stat().st_size > most_bytes:
            raise InputError(f"{path} is larger than {most_bytes >> 20} MiB: not a model's file")
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_reject)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not valid JSON: {error}") from error
    known = value if isinstance(value, dict) else {}
    if missing := required - known.keys():
        raise InputError(f"{path}: not a model's file, it lacks {', '.join(sorted(missing))}")
    if known is not value:
        raise InputError(f"{path}: not a model's file, it holds no JSON object")
    return known


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _checksum(content: dict[str, Any]) -> str:
    """SHA-256 of the content in canonical JSON, without its own key."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _settings(path: Path, content: Any) -> Settings:
    if not isinstance(content, dict):
        raise InputError(f"{path}: settings are an object, not {_shown(content)}")
    reader, network = content.get("reader"), content.get("network")
    if not isinstance(reader, str):
        raise InputError(f"{path}: `reader` is the name of one, not {_shown(reader)}")
    if not isinstance(network, dict):
        raise InputError(f"{path}: `network` is an object, not {_shown(network)}")
    threshold = _number(path, "no_answer_threshold", content.get("no_answer_threshold", 1.0))
    if not 0 <= threshold <= 1:
        raise InputError(f"{path}: `no_answer_threshold` is from 0 to 1, not {threshold}")
    files = content.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(each, str) for each in files.values()):
        raise InputError(f"{path}: `files` must map file names to checksums")
    calibration, confidence = _calibration(path, content), _confidence(path, content)
    return Settings(reader, network, threshold, calibration, confidence, files)


def _calibration(path: Path, content: dict[str, Any]) -> Calibration:
    found = content.get("calibration", {})
    names = [each.name for each in fields(Calibration)]
    if not isinstance(found, dict) or not found.keys() <= set(names):
        raise InputError(f"{path}: `calibration` has the numbers {', '.join(names)}")
    return Calibration(
        **{name: _number(path, f"calibration.{name}", value) for name, value in found.items()}
    )


def _confidence(path: Path, content: dict[str, Any]) -> Confidence:
    found = content.get("confidence", {})
    names = [each.name for each in fields(Confidence)]
    if not isinstance(found, dict) or not found.keys() <= set(names):
        raise InputError(f"{path}: `confidence` has the weights {' and '.join(names)}")
    weights: dict[str, tuple[float, ...]] = {}
    for name, values in found.items():
        where = f"confidence.{name}"
        if not isinstance(values, list | tuple) or len(values) not in (0, len(FEATURES)):
            raise InputError(
                f"{path}: `{where}` has {len(FEATURES)} numbers or none, not {_shown(values)}"
            )
        weights[name] = tuple(_number(path, where, value) for value in values)
    return Confidence(**weights)


def completed(weights: Sequence[float]) -> tuple[float, ...]:
    """The weights of a `Confidence`, with 0 for those features that have none; none if empty."""
    missing = len(FEATURES) - len(weights) if weights else 0
    return *weights, *[0.0] * missing


def _number(path: Path, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e6:
        raise InputError(f"{path}: `{name}` is a number, not {_shown(value)}")
    assert math.isfinite(value)
    return float(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:40]}..."
