"""Suites from Python give what the command line gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import goodness as g
import pytest

WORKS = ["mixed:duration=300ms", "schbench:duration=300ms"]


def test_a_suite_has_the_costs_of_the_command_line(tmp_path: Path) -> None:
    found = g.compare_suite(WORKS, policies=["eevdf", "cfs"], runs=2)
    words = ["compare", *WORKS, "--each", "-p", "eevdf", "-p", "cfs", "--runs", "2", "--json", "-"]
    printed = subprocess.run([sys.executable, "-m", "goodness", *words], capture_output=True, text=True, check=True)
    assert json.loads(found.to_json())["arms"] == json.loads(printed.stdout)["arms"]
    assert len(found.costs) == 2 * 3 and found.conclusion in " ".join(repr(found).split())
    found.report(tmp_path / "s.html")
    assert "Costs, least first" in (tmp_path / "s.html").read_text()


def test_mistakes_are_errors_with_a_remedy() -> None:
    with pytest.raises(g.UsageError, match="there is no suite \"sever\""):
        g.compare_suite("sever")
    with pytest.raises(g.UsageError, match="name a suite, or works"):
        g.compare_suite([])
