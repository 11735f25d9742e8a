"""Makes paraphrases by back-translation with two models, or by any program."""

import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from fabir.errors import InputError

_LINES = 500  # sentences that a program gets at once
_SENTENCES = 32  # sentences that a model gets at once


class Command:
    """A program that reads a sentence a line from stdin and writes its paraphrase a line.

    Args:
        command: for the shell, such as "apertium -u eng-spa | apertium -u spa-eng"
    """

    def __init__(self, command: str) -> None:
        self.command = command

    def paraphrase(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """One paraphrase per sentence; the sentence itself if the program writes an empty line.

        Raises:
            InputError: the program fails, or does not write as many lines as it was given.
        """
        for begin in range(0, len(texts), _LINES):
            part = texts[begin : begin + _LINES]
            lines = self._run([" ".join(text.split()) for text in part])
            if len(lines) != len(part):
                raise InputError(
                    f"--command {self.command!r} wrote {len(lines)} lines for {len(part)} "
                    "sentences: it must write one for each"
                )
            for text, line in zip(part, lines, strict=True):
                yield [" ".join(line.split()) or text]

    def _run(self, lines: list[str]) -> list[str]:
        done = subprocess.run(
            self.command,
            shell=True,
            input="".join(f"{line}\n" for line in lines).encode(),
            capture_output=True,
        )
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())[-200:]
            raise InputError(f"--command {self.command!r} failed ({done.returncode}): {said}")
        try:
            return done.stdout.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(f"--command {self.command!r} wrote text that is not UTF-8") from error


class BackTranslation:
    """Back-translation by two sequence-to-sequence models of transformers, such as Marian's.

    Args:
        there, back: folders, or names on the Hugging Face hub such as
            "Helsinki-NLP/opus-mt-en-fr" and "Helsinki-NLP/opus-mt-fr-en"
        candidates: translations kept in each direction, which makes their square of paraphrases.
            The beam search is as wide, but at least 5

    Raises:
        InputError: transformers is missing, or a model cannot be loaded.
    """

    def __init__(self, there: str, back: str, candidates: int = 1) -> None:
        if candidates < 1:
            raise InputError(f"a sentence gets 1 candidate or more, not {candidates}")
        import torch

        self.candidates = candidates
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self._there, self._back = self._load(there), self._load(back)

    def paraphrase(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The distinct ones of `candidates` squared paraphrases for each sentence."""
        for begin in range(0, len(texts), _SENTENCES):
            part = list(texts[begin : begin + _SENTENCES])
            translated = self._translate(self._there, part)
            flat = self._translate(self._back, [text for group in translated for text in group])
            for row, text in enumerate(part):
                groups = flat[row * self.candidates : (row + 1) * self.candidates]
                found = [candidate for group in groups for candidate in group if candidate]
                yield list(dict.fromkeys(found)) or [text]

    def _load(self, name: str) -> tuple[Any, Any]:
        try:
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        except ImportError as error:
            raise InputError(
                "translation models need transformers: pip install 'fabir[augment]'"
            ) from error
        try:
            model = AutoModelForSeq2SeqLM.from_pretrained(name).to(self.device).eval()
            return AutoTokenizer.from_pretrained(name), model
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"cannot load the translation model {name}: {reason}") from error

    def _translate(self, pair: tuple[Any, Any], texts: list[str]) -> list[list[str]]:
        """`candidates` translations of each text, best first."""
        tokenizer, model = pair
        batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True)
        made = model.generate(
            **batch.to(self.device),
            num_beams=max(5, self.candidates),
            num_return_sequences=self.candidates,
            max_new_tokens=2 * batch["input_ids"].shape[1] + 10,
        )
        found = [text.strip() for text in tokenizer.batch_decode(made, skip_special_tokens=True)]
        return [found[i : i + self.candidates] for i in range(0, len(found), self.candidates)]
