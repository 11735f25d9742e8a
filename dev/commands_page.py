"""Writes docs/commands.md from the parsers that `fabir --help` uses: python dev/commands_page.py"""

import argparse
import html
import re
from collections.abc import Iterator
from pathlib import Path

from fabir.cli import build_parser

PAGE = Path(__file__).resolve().parent.parent / "docs" / "commands.md"
INTRODUCTION = """# Commands

`fabir COMMAND --help` prints what this page has. Results go to stdout, everything else to stderr.
The exit code is 0 for success, and 2 for a mistake in the input or the options or a machine that
refuses, such as a full disk. It is 130 after Ctrl+C and 143 after SIGTERM, but 0 for `fabir serve`,
and 1 for a bug in fabir or a training process that was killed.

<!-- Made by dev/commands_page.py: change the texts in src/fabir/commands. -->
"""


def commands() -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """The parser of each command and the sentence that says what it does, by name."""
    groups = build_parser()._actions
    (choices,) = (group for group in groups if isinstance(group, argparse._SubParsersAction))
    abouts = {choice.dest: choice.help or "" for choice in choices._choices_actions}
    return {name: (parser, abouts[name]) for name, parser in choices.choices.items()}


def _code(text: str) -> str:
    """`text` as code in a cell of a table."""
    return (
        f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"
    )


def _usual(text: str) -> str:
    return re.sub(r"([*|])", r"\\\1", text)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].rstrip(".") + "."


def _value(action: argparse.Action) -> str:
    """How the value of an argument is written, "" if it takes none."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    name = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    return f"{name} ..." if action.nargs in ("+", "*") else name


def _spelling(action: argparse.Action) -> str:
    return " ".join(filter(None, [", ".join(action.option_strings), _value(action)]))


def _must_be_given(action: argparse.Action) -> bool:
    return action.required and action.nargs != "*"


def _meaning(action: argparse.Action) -> str:
    words = _usual(action.help or "")
    default = action.default
    told = isinstance(default, bool) or default == argparse.SUPPRESS or str(default) in words
    if default and not told:
        words += f" (default: {default})"
    return "; ".join(filter(None, ["required" if _must_be_given(action) else "", words.strip()]))


def _usage(name: str, actions: list[argparse.Action]) -> str:
    arguments = [
        _spelling(action) if _must_be_given(action) else f"[{_spelling(action)}]"
        for action in actions
        if not action.option_strings or _must_be_given(action)
    ]
    return " ".join(["fabir", name, *arguments, "[OPTION ...]"])


def section(name: str, parser: argparse.ArgumentParser, about: str) -> Iterator[str]:
    """The lines about one command."""
    actions = [action for action in parser._actions if action.dest != "help"]
    yield from ["", f"## {name}", "", _sentence(parser.description or about), ""]
    yield from ["```text", _usage(name, actions), "```", "", "| argument | meaning |", "|---|---|"]
    yield from (f"| {_code(_spelling(action))} | {_meaning(action)} |" for action in actions)
    if parser.epilog:
        yield from ["", _usual(parser.epilog)]


def page() -> str:
    """The whole page."""
    known = commands()
    index = [f"| [{name}](#{name}) | {_usual(about)} |" for name, (_, about) in known.items()]
    lines = [INTRODUCTION, "| command | what it does |", "|---|---|", *index]
    for name, (parser, about) in known.items():
        lines += section(name, parser, about)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
