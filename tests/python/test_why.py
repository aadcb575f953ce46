"""Explanations from Python give what the command line gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import goodness as g
import pytest

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / "examples/09-priority-inversion.toml"
RECORDED = "apache-ab-c4-1cpu"


def printed(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "goodness", "why", *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def locked() -> g.Explanation:
    """A holder of a lock that another task keeps from running."""
    return g.why(LOCKED, policy="eevdf")


def test_an_explanation_has_the_bytes_of_the_command_line(locked: g.Explanation) -> None:
    assert locked.to_json() == printed(str(LOCKED), "-p", "eevdf", "--json", "-")
    assert repr(locked) == printed(str(LOCKED), "-p", "eevdf").rstrip()
    recorded = g.why(g.recording(RECORDED), worst=3)
    assert recorded.to_json() == printed(RECORDED, "--worst", "3", "--json", "-")
    # Negative control: another question has other bytes.
    assert g.why(RECORDED, worst=2).to_json() != recorded.to_json()
    assert g.why(RECORDED, worst=3, machine="cpus=4").to_dict()["policy"] is not None


def test_the_headline_is_its_text_and_the_notebook_shows_the_causes(locked: g.Explanation) -> None:
    assert str(locked) == locked.conclusion == repr(locked).split("priority inversion")[0].replace("\n", " ").strip()
    html = locked._repr_html_()
    assert locked.conclusion in html and html.count("<table") == 2 and "asleep for lock log" in html


def test_the_page_has_the_headline_and_says_how_to_make_it_again(tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    found = g.why(RECORDED, worst=2, of="requests")
    found.report(page)
    html = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert found.conclusion in html and "goodness.why(" in html and "worst=2" in html
    # Of equally long links the notebook names the first, as the table does.
    assert found.latencies["cause"][0].replace("_", " ") in found._repr_html_()


def test_the_links_of_each_latency_sum_to_it_and_name_the_lock(locked: g.Explanation) -> None:
    links = locked.segments.to_polars()
    sums = {rank: sum(links.filter(rank=rank)["span"]) for rank in set(links["rank"])}
    assert sums == dict(zip(locked.latencies["rank"], locked.latencies["length"]))
    assert {(row["lock"], row["holder"]) for row in links.to_dicts()} == {("log", "logger"), (None, None)}
    first, *_, last = locked.causes.to_dicts()
    assert (first["cause"], first["culprit"], first["verdict"]) == ("behind", "worker", "holds")
    assert (last["cause"], last["culprit"]) == ("lock", "log") and last["share"] > 0.9
    # Negative control: without a lock none is named.
    assert g.why("mixed:duration=300ms", check=False).segments.to_polars()["lock"].null_count() > 0
    assert "lock" not in g.why("mixed:duration=300ms", check=False).causes["cause"]


def test_mistakes_are_errors_with_a_remedy() -> None:
    with pytest.raises(g.UsageError, match="nothing was late at"):
        g.why(RECORDED, at="1s")
    with pytest.raises(g.UsageError, match="at: .*unit"):
        g.why(RECORDED, at="5")
    with pytest.raises(g.UsageError, match="write requests, io, waits, wakeups or all"):
        g.why(RECORDED, of="naps")  # type: ignore[arg-type]
    with pytest.raises(g.UsageError, match="nearest is \"eevdf\""):
        g.why("mixed", policy="eevfd")
    with pytest.raises(g.UsageError, match="judge is for work that is opened here"):
        g.why(g.recording(RECORDED), judge="ab")
    with pytest.raises(g.UsageError, match="no lock is called \"lag\""):
        g.why(LOCKED, arm="lag.hold=50%")
