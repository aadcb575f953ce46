"""Differences from Python are what the command line finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import goodness as g
import pytest

WORK = "mixed:duration=300ms"
GATE = "context_switches > +5%"


def printed(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "goodness", "diff", *words], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def parted() -> g.Difference:
    """Two schedulers that part at once."""
    return g.diff(WORK, policies=["eevdf", "rr:timeslice=1ms"], runs=3, fail_if=[GATE])


def test_a_difference_has_the_bytes_of_the_command_line(parted: g.Difference, tmp_path: Path) -> None:
    words = [WORK, "-p", "eevdf", "-p", "rr:timeslice=1ms", "--runs", "3", "--fail-if", GATE]
    assert parted.to_json() == printed(*words, "--json", "-")
    assert repr(parted) == printed(*words).rstrip()
    assert parted.is_different and parted.outcome == "fails" and str(parted) == parted.conclusion
    parted.report(tmp_path / "d.html")
    assert "<svg" in (tmp_path / "d.html").read_text()
    html = parted._repr_html_()
    assert parted.conclusion in html and "metrics do not differ" in html
    # Negative control: another seed has other bytes.
    assert g.diff(WORK, policies=["eevdf", "rr:timeslice=1ms"], runs=3, seed=2).to_json() != parted.to_json()


def test_an_arm_that_changes_nothing_does_not_differ() -> None:
    same = g.diff(WORK, policies=["eevdf", "eevdf"], runs=2)
    assert not same.is_different and same.outcome is None and "No difference" in str(same)
    assert all(row["finding"] == "equal" for row in same.metrics.to_dicts())


def test_an_arm_is_compared_with_the_unchanged_work() -> None:
    words = [WORK, "--arm", "cpus=2", "--runs", "2", "--json", "-"]
    assert g.diff(WORK, arms=["cpus=2"], runs=2).to_json() == printed(*words)


def test_two_recordings_are_compared_as_they_were_made() -> None:
    a, b = "apache-ab-c4-1cpu", "apache-ab-c24-1cpu"
    found = g.diff(a, g.recording(b))
    assert found.to_json() == printed(a, b, "--json", "-")
    assert found.to_dict()["kind"] == "recordings" and len(found.tasks) == 0


def test_two_results_are_compared_here_and_as_files(tmp_path: Path) -> None:
    before = g.compare(WORK, policies=["eevdf"], runs=3)
    after = g.compare(WORK, policies=["eevdf"], runs=3, seed=2)
    for name, result in (("a.json", before), ("b.json", after)):
        (tmp_path / name).write_text(result.to_json())
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    assert g.diff(*files).to_json() == printed(*files, "--json", "-")
    assert g.diff(before, after).metrics.to_dicts() == g.diff(*files).metrics.to_dicts()
    with pytest.raises(g.UsageError, match="only one of the two is a result"):
        g.diff(before, "apache-ab-c4-1cpu")
    with pytest.raises(g.UsageError, match="has no policy \"rr\""):
        g.diff(before, after, policies=["rr"])


def test_mistakes_are_errors_with_a_remedy() -> None:
    with pytest.raises(g.UsageError, match="name two policies, or one arm"):
        g.diff(WORK)
    with pytest.raises(g.UsageError, match="as they were made"):
        g.diff("apache-ab-c4-1cpu", "apache-ab-c24-1cpu", policies=["rr"])
    with pytest.raises(g.UsageError, match="fail_if: .*no metric \"context_switch\""):
        g.diff(WORK, policies=["eevdf", "rr"], fail_if=["context_switch > +5%"])
    with pytest.raises(g.UsageError, match="arms and policies are both given"):
        g.diff(WORK, policies=["eevdf"], arms=["cpus=2"])
