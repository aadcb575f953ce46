"""The published schemas against what the commands write."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
COMPARE = ["compare", "mixed:duration=300ms", "--runs", "2", "--no-html", "--json", "-"]
WRITES = {
    "compare": COMPARE,
    "compare, a recording": ["compare", "apache-ab-c4-1cpu", "--runs", "2", "--no-html", "--json", "-"],
    "compare, disks": ["compare", "examples/05-disk.toml", "-p", "eevdf", "--runs", "2", "--no-html", "--json", "-"],
    "run": ["run", "mixed:duration=300ms", "-p", "rr", "--json", "-"],
}


def written(words: list[str]) -> Any:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "goodness", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, cwd=root).stdout)


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


@pytest.mark.parametrize("command", WRITES)
def test_reports_follow_their_schema(command: str) -> None:
    jsonschema.validate(written(WRITES[command]), schema("goodness.report-1"))


SPOILED = [["policies"], ["seed"], ["policies", 0, "metrics"], ["input", "name"], ["runs", 0, "values"]]


@pytest.mark.parametrize("path", SPOILED)
def test_a_report_that_lacks_a_field_or_has_another_kind_is_rejected(path: list[Any]) -> None:
    report = written(COMPARE)
    jsonschema.validate(report, schema("goodness.report-1"))
    for spoil in ["lacks", "kind"]:
        spoiled = copy.deepcopy(report)
        place = spoiled
        for key in path[:-1]:
            place = place[key]
        if spoil == "lacks":
            del place[path[-1]]
        else:
            place[path[-1]] = True
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(spoiled, schema("goodness.report-1"))
