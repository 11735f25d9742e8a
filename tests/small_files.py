"""Small files about unrelated things, with questions that they answer and that they do not. No
tests here."""

from pathlib import Path

Answered = dict[str, str]

THREE = {
    "a": "Belria was founded in 1330 by the monk Osric. Its mayor is Lise Brandt and it has "
    "51,234 inhabitants.",
    "b": "The Orla bridge was built in 1822 by Nils Ekdahl. It is 40 metres long.",
    "c": "Margit Solberg invented the tide clock in 1911 and died in 1950.",
}
THREE_ANSWER: Answered = {"When was Belria founded?": "1330"}
THREE_LACK = [
    "Who invented the telephone?",
    "Who built the Eiffel tower?",
    "When was Microsoft founded?",
    "Who is the mayor of Copenhagen?",
    "When was the Golden Gate Bridge built?",
    "When did Napoleon die?",
    "How many inhabitants has Reykjavik?",
    "How long is the Danube?",
    "Who founded Zanzibar?",
]

MANY = {
    "aldous-fenn": "Aldous Fenn was born in Carrow in 1848. He worked as a lock keeper before he "
    "published his first novel, The Salt Road, in 1881.",
    "baking": "The bread club of Tarnby bakes on Thursdays in the old school. Members bring their "
    "own flour, and the oven is lit at six in the morning.",
    "boiler": "The boiler in the cellar is a Hansa 40. Its pressure must stay below 2.5 bar. It "
    "was last inspected by Jonas Wirth.",
    "carrow": "Carrow lies on the left bank of the Ems. The town has 8,412 inhabitants and is "
    "known for its glass.",
    "chess": "The chess club Black Knights meets every Tuesday at eight in the Café Moll. Its "
    "chairman is Petra Lang, who won the regional title in 2009.",
    "coffee": "The coffee machine needs descaling every six weeks. Use two spoons of citric acid "
    "in a litre of water, never vinegar.",
    "dorrit-hale": "Dorrit Hale, a botanist, collected more than 3,000 mosses in the Kessel hills. "
    "She died in 1927 in Varn.",
    "ferry": "The ferry to Lowen Island leaves at 7:15 and 16:40. A return ticket costs 12 crowns; "
    "children under six travel free.",
    "garden": "The community garden was opened by Mayor Ruud Visser in 2014. It has 36 plots and "
    "a greenhouse.",
    "handover": "The new server is called heron. Backups run at 3:30 every night and are kept for "
    "90 days. The password is held by Amira Said.",
    "harvester": "The Rusk R7 harvester weighs 14 tonnes and burns 38 litres of diesel an hour. "
    "It was designed by Emil Rusk.",
    "iva-marek": "Iva Marek is a violinist from Brenn. She studied under Tomas Quell and has "
    "played with the Brenn Philharmonic since 1998.",
    "kessel": "The highest of the Kessel hills is the Graustein, at 1,104 metres. It was first "
    "climbed by two shepherds in 1790.",
    "library": "The library of Varn holds 22,000 books. It is closed on Mondays. Fines are ten "
    "cents a day.",
    "lighthouse": "The lighthouse at Cape Orrin was completed in 1863. Its architect was Hedda "
    "Strand, and its light reaches 19 miles.",
    "loom": "The ribbon loom was brought to Tarnby by Flemish weavers in 1640. One loom could make "
    "24 ribbons at once.",
    "mill": "The paper mill of Brenn burned down in 1911. The fire began in the drying room and "
    "killed three workers.",
    "minutes": "The committee met on 4 March. Olga Brandt was elected treasurer. The annual fee "
    "was raised to 60 crowns.",
    "otto-graf": "Otto Graf invented the double-hinged stapler in 1932 and sold the patent to "
    "the Hollis company for 900 pounds.",
    "printer": "The printer on the second floor takes A3 paper. Toner is in the cupboard beside "
    "the lift. Call Bruno Adler when it jams.",
    "rowing": "The rowing club Ems was founded in 1902 by six students. Its boathouse burned in "
    "1944 and was rebuilt in brick.",
    "soup": "Varn fish soup is made of pike, leeks and cream. It is served with black bread on "
    "Saint Nicholas's day.",
    "tram": "The first tram in Brenn ran on 2 May 1896 between the station and the harbour. It was "
    "drawn by horses.",
    "varn": "Varn was granted its town charter by Duke Leopold in 1278. The town hall has a clock "
    "with four faces.",
}
MANY_ANSWER: Answered = {
    "Who designed the Rusk R7 harvester?": "Emil Rusk",
    "When did the paper mill of Brenn burn down?": "1911",
    "How many inhabitants has Carrow?": "8,412",
    "Who is the chairman of the chess club?": "Petra Lang",
    "Who was the architect of the lighthouse at Cape Orrin?": "Hedda Strand",
    "When was the rowing club Ems founded?": "1902",
    "Who invented the double-hinged stapler?": "Otto Graf",
    "Where did Dorrit Hale die?": "Varn",
}
MANY_LACK = [
    "Who invented the telescope?",
    "When was the University of Bologna founded?",
    "How many inhabitants has Montevideo?",
    "Who designed the Sydney Opera House?",
    "Where was Marie Curie born?",
    "Who is the chairman of the Bank of Japan?",
    "How high is Kilimanjaro?",
    "When did the Titanic sink?",
]


def write_small_files(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text + "\n", "utf-8")
