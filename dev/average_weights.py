"""Averages the weights of readers that went on from one reader, each trained in its own way.

    python dev/average_weights.py MODEL MODEL ... [--shares 0.6 0.4 ...] --output FOLDER

Such an average answers better than each of them (Wortsman et al. 2022, "Model soups"). The words
and the settings are those of the first model.
"""

import argparse

import torch

from fabir.runtime.locate import find_model
from fabir.runtime.torch_model import TorchModel


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--shares", nargs="+", type=float, help="of each model; equal by default")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    shares = torch.tensor(options.shares or [1.0] * len(options.models))
    if len(shares) != len(options.models):
        parser.error("give one share for each model")
    first, *others = [TorchModel.load(find_model(name)) for name in options.models]
    named = [dict(each.network.named_parameters()) for each in (first, *others)]
    shapes = [{name: weight.shape for name, weight in each.items()} for each in named]
    if any(each != shapes[0] for each in shapes):  # rates of dropout may differ
        parser.error("the models have different networks")
    with torch.no_grad():
        for name, weight in named[0].items():
            same = [each[name] for each in named[1:]]
            weight.copy_(torch.tensordot(shares / shares.sum(), torch.stack([weight, *same]), 1))
    first.save(options.output)


if __name__ == "__main__":
    main()
