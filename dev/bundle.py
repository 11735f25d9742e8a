"""Puts exported models into the package, with the words that they share once.

    python dev/bundle.py fast=FOLDER accurate=FOLDER

All but the first were trained with `--words` and the first one, and all were compacted to the same
number of words. Model cards are not touched.
"""

import argparse
import shutil
from pathlib import Path

from fabir.runtime.locate import BUNDLED_MODELS
from fabir.runtime.store import VOCABULARY, WORDS, model_files


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER")
    options = parser.parse_args()
    models = dict(each.split("=", 1) for each in options.models)
    files = {name: model_files(Path(folder)) for name, folder in models.items()}
    kept = [each for each in BUNDLED_MODELS.iterdir() if each.is_dir() and each.name not in models]
    for shared in (VOCABULARY, WORDS):
        all_files = [*files.values(), *map(model_files, kept)]
        if len({each[shared].read_bytes() for each in all_files}) > 1:
            parser.error(f"the models have different words: {shared} is not the same")
    for name, of_model in files.items():
        (BUNDLED_MODELS / name).mkdir(exist_ok=True)
        for file, path in of_model.items():
            target = BUNDLED_MODELS / ("" if file in (VOCABULARY, WORDS) else name) / file
            if path.resolve() != target.resolve():
                shutil.copyfile(path, target)
    size = sum(path.stat().st_size for path in BUNDLED_MODELS.rglob("*") if path.is_file())
    print(f"{BUNDLED_MODELS}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
