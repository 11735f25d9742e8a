"""Writes train.csv and dev.csv: questions about invented data sheets of pumps, for trying out
`fabir convert` and `fabir train --from fast`. The dev file's sheets are not in the train file.
"""

import csv
import random
import sys
from pathlib import Path

MAKERS = "Orvik", "Talmet", "Brunn & Sohn", "Kestrel Flow", "Nordhavn", "Pallas"
MATERIALS = "cast iron", "stainless steel", "bronze", "glass-filled nylon", "duplex steel"
PLACES = "Aldwick", "Port Renn", "Strand", "Vasgard", "Mill Hollow"


def sheet(draw: random.Random) -> tuple[str, list[tuple[str, str]]]:
    """A passage, and questions with their answers."""
    name = f"{draw.choice('ABCDKRTX')}{draw.randint(10, 99)}-{draw.randint(2, 9) * 100}"
    maker, place = draw.choice(MAKERS), draw.choice(PLACES)
    body, wheel = draw.sample(MATERIALS, 2)
    flow, head = f"{draw.randint(5, 400)} l/min", f"{draw.randint(3, 120)} m"
    weight, power = f"{draw.randint(2, 90)} kg", f"{draw.randint(1, 30) / 4:.2f} kW"
    years = draw.randint(1, 9)
    facts = [
        (f"Flow: {flow}.", f"How much does the {name} pump?", flow),
        (f"Head: {head}.", f"How high does the {name} lift water?", head),
        (f"Mass, dry: {weight}.", f"How heavy is the {name}?", weight),
        (f"Shaft: {power}.", f"What power does the {name} need?", power),
        (
            f"Casing {body}, impeller {wheel}.",
            f"What is the impeller of the {name} made of?",
            wheel,
        ),
        (f"Warranty {years} years.", f"How long is the {name} guaranteed?", f"{years} years"),
        (f"Spares: {place}.", f"Where do spare parts for the {name} come from?", place),
    ]
    draw.shuffle(facts)
    passage = " ".join([f"{maker} {name}.", *(fact for fact, *_ in facts)])
    asked = [(question, answer) for _, question, answer in facts]
    return passage, [*asked, (f"Who makes the {name}?", maker)]


def write(path: Path, sheets: int, seed: int) -> None:
    draw = random.Random(seed)
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "passage", "answer"])
        for _ in range(sheets):
            passage, asked = sheet(draw)
            rows.writerows((question, passage, answer) for question, answer in asked)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "train.csv", 60, 1)
    write(folder / "dev.csv", 20, 2)
