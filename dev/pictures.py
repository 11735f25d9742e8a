"""Draws the README's pictures into docs/images: python dev/pictures.py

answer.png is the page of `fabir serve` in chromium, after one question. quality-and-speed.png has
the figures of the first table of docs/how-good-and-how-fast.md.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

DOCS = Path(__file__).resolve().parent.parent / "docs"
IMAGES = DOCS / "images"
PASSAGE = DOCS.parent / "examples" / "precipitation.txt"
QUESTION = "What causes precipitation to fall?"


def table_row(page: str, beginning: str) -> list[str]:
    """The cells of the row of a Markdown table whose first cell begins so, without that cell."""
    (row,) = re.findall(rf"^\| {re.escape(beginning)}[^|]*\|(.*)\|$", page, re.MULTILINE)
    return [cell.strip(" `") for cell in row.split("|")]


def draw_quality_and_speed() -> None:
    """F1 on SQuAD 1.1 against questions a second, a point for each model."""
    page = (DOCS / "how-good-and-how-fast.md").read_text(encoding="utf-8")
    names = table_row(page, "measure")
    f1 = [float(cell.split(" / ")[0]) for cell in table_row(page, "SQuAD 1.1 dev, F1")]
    speed = [float(cell.replace(",", "")) for cell in table_row(page, "questions/s")]
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for name, x, y in zip(names, speed, f1, strict=True):
        ours = name in ("fast", "accurate")
        axes.scatter(x, y, s=60, color="#1f5fbf" if ours else "#777777")
        axes.annotate(name, (x, y), xytext=(0, 9), textcoords="offset points", ha="center")
    axes.set(xscale="log", xlim=(12, 6000), ylim=(72, 92), yticks=range(75, 91, 5))
    axes.set_xlabel("questions a second, two cores")
    axes.set_ylabel("F1 on SQuAD 1.1")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "quality-and-speed.png", dpi=130)


def photograph_an_answer() -> None:
    """The page of the service with an answer marked in its passage."""
    command = [sys.executable, "-m", "fabir", "serve", "--port", "0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    options = webdriver.ChromeOptions()
    for option in ("--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=860,1000"):
        options.add_argument(option)
    # With its path Selenium looks for no driver on the network.
    driver = Service(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=driver)
    try:
        assert service.stderr
        browser.get(re.findall(r"http://\S+?(?=;)", service.stderr.readline())[0])
        question = browser.find_element(By.ID, "question")
        WebDriverWait(browser, 60).until(lambda page: question.get_attribute("value"))
        for name, text in (("question", QUESTION), ("passage", PASSAGE.read_text())):
            field = browser.find_element(By.ID, name)
            field.clear()
            field.send_keys(text.strip())
        Select(browser.find_element(By.ID, "top-k")).select_by_visible_text("1")
        browser.find_element(By.ID, "go").click()
        WebDriverWait(browser, 60).until(lambda page: page.find_element(By.CSS_SELECTOR, "mark"))
        browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
        browser.save_screenshot(str(IMAGES / "answer.png"))
    finally:
        browser.quit()
        service.terminate()
        service.wait(30)


if __name__ == "__main__":
    draw_quality_and_speed()
    photograph_an_answer()
