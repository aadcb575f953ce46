"""Tunings from Python give what the command line gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import goodness as g
import pytest

KNOB = "base_slice=0.7ms..12ms"


def test_a_tuning_has_the_bytes_of_the_command_line(tmp_path: Path) -> None:
    found = g.tune("mixed:duration=500ms", [KNOB], policy="eevdf:base_slice=3ms", runs=4)
    words = ["tune", "mixed:duration=500ms", "-p", "eevdf:base_slice=3ms", "--over", KNOB, "--runs", "4", "--json", "-"]
    printed = subprocess.run([sys.executable, "-m", "goodness", *words], capture_output=True, text=True, check=True)
    assert found.to_json() == printed.stdout
    assert found.best is not None and found.best in found.conclusion
    assert json.loads(found.to_json())["answer"] == "found" and not found.is_undecided
    stages = {row["stage"] for row in found.candidates.to_dicts()}
    assert stages == {"search", "held-out"}
    found.report(tmp_path / "t.html")
    assert "<svg" in (tmp_path / "t.html").read_text()
    assert found.race is not None and "schbench" in found.race


def test_mistakes_are_errors_with_a_remedy() -> None:
    with pytest.raises(g.UsageError, match="nearest is \"base_slice\""):
        g.tune("mixed", ["base_slise=1ms..2ms"])
    with pytest.raises(g.UsageError, match="leave one out"):
        g.tune("mixed", [KNOB], minimise="wakeup_latency_p99", maximise="throughput")
    with pytest.raises(g.UsageError, match="over is one name"):
        g.tune("mixed", KNOB)
