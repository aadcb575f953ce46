"""The published schemas against what the commands write."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import jsonschema
import pytest

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schema"
#: Another program than the package's own, for a quick check of one that was just built.
PROGRAM = [os.environ["GOODNESS_CHECKED"]] if "GOODNESS_CHECKED" in os.environ else [sys.executable, "-m", "goodness"]

TASK = """duration = "200ms"
[[task]]
name = "blinker"
program = [ { compute = "1ms" }, { sleep = "4ms" } ]
"""
SWEEP = """metric = "wakeup_latency_p99"
runs = 2
inputs = ["mixed:duration=20ms,hogs={hogs}"]
arms = ["rr", "cfs"]
[space]
hogs = [1, 2]
"""
RACE = """blocks = 2
warmup = 0
outside_load = "100%"
measures = ["cpu_time"]
[load]
use = "spin"
work = 1
[[arm]]
name = "plain"
[[arm]]
name = "nice 1"
nice = 1
"""
COMPARE = ["compare", "mixed:duration=300ms", "--runs", "2", "--no-html", "--json", "-"]
BENCH = ["bench", "--budget", "1ms", "--decisions", "2000", "--json"]
#: By schema: what writes it. {here} is a folder with the files above.
WRITES: list[tuple[str, list[str]]] = [
    ("report-1", COMPARE),
    ("report-1", ["compare", "apache-ab-c4-1cpu", "--runs", "2", "--no-html", "--json", "-"]),
    ("report-1", ["compare", "examples/05-disk.toml", "-p", "eevdf", "--runs", "2", "--no-html", "--json", "-"]),
    ("report-1", ["run", "mixed:duration=300ms", "-p", "rr", "--timing", "--json", "-"]),
    ("verify-1", ["verify", "apache-ab-c4-1cpu", "--json"]),
    ("suite-1", ["compare", "mixed:duration=100ms", "sleepers:duration=100ms", "--each", "-p", "eevdf", "-p", "rr",
                 "--runs", "2", "--json", "-"]),
    ("diff-1", ["diff", "mixed:duration=300ms", "-p", "eevdf", "-p", "rr", "--runs", "2", "--json", "-"]),
    ("teach-1", ["teach", "A:0:8 B:1:4", "-p", "rr", "--json", "-"]),
    ("why-1", ["why", "examples/09-priority-inversion.toml", "--json", "-"]),
    ("why-1", ["why", "redis-benchmark-8", "--json", "-"]),
    ("summary-1", ["summarise", "apache-ab-c4-1cpu", "--json"]),
    ("study-1", ["study", "travis-1998", "--quick", "--runs", "2", "--json"]),
    ("tune-1", ["tune", "mixed:duration=300ms", "--over", "base_slice=0.7ms..12ms", "--runs", "3", "--json", "-"]),
    ("tune-1", ["tune", "mixed-cpu", "--over", "hz=100|1000", "--rounds", "1", "--runs", "2", "--json", "-"]),
    ("sweep-1", ["sweep", "{here}/s.toml", "--json", "-"]),
    ("bench-1", [*BENCH, "-p", "rr", "--tasks", "10"]),
    ("bench-1", [*BENCH, "--elevator", "noop", "--waiting", "48"]),
    ("list-1", ["study", "list", "--json"]),
    *[
        ("list-1", ["list", what, "--json"])
        for what in ["policies", "elevators", "devices", "workloads", "recordings", "machines", "metrics", "formats"]
    ],
]
#: On Linux: measurements of this machine.
MEASURES: list[tuple[str, list[str]]] = [
    ("play-1", ["play", "{here}/x.toml", "--json", "-"]),
    ("conform-1", ["conform", "{here}/x.toml", "--runs", "2", "--json", "-"]),
    ("race-1", ["race", "{here}/race.toml", "--json", "-"]),
    ("calibrate-1", ["calibrate", "--json", "-"]),
    ("calibrate-disk-1", ["calibrate", "--device", "{here}/disk", "--json", "-"]),
    ("doctor-1", ["doctor", "--json"]),
]
#: Exit codes of a verdict, which has a document all the same.
VERDICTS = {0, 1, 3}
#: What only root can make; a test of the command line writes the samples.
SAMPLES = ["live-1", "elevate-1", "elevate-list-1"]

Documents = dict[str, list[Any]]


def written(words: list[str], here: Path) -> Any:
    words = [word.replace("{here}", str(here)) for word in words]
    done = subprocess.run([*PROGRAM, *words], capture_output=True, cwd=ROOT)
    assert done.returncode in VERDICTS, f"{words}: {done.stderr.decode()}"
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """The documents of all commands, by schema."""
    here = tmp_path_factory.mktemp("documents")
    for name, text in [("x.toml", TASK), ("s.toml", SWEEP), ("race.toml", RACE)]:
        (here / name).write_text(text)
    (here / "disk").write_bytes(bytes(64 << 20))
    found: Documents = {}
    for name, words in WRITES + (MEASURES if sys.platform == "linux" else []):
        found.setdefault(name, []).append(written(words, here))
    for name in SAMPLES:
        found.setdefault(name, []).append(json.loads((ROOT / f"tests/schema/goodness.{name}.json").read_text()))
    shutil.rmtree(here)
    return found


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"goodness.{name}.json").read_text())


def test_every_schema_has_a_document_that_follows_it(documents: Documents) -> None:
    published = {path.name.removeprefix("goodness.").removesuffix(".json") for path in SCHEMAS.glob("*.json")}
    measured = set() if sys.platform == "linux" else {name for name, _ in MEASURES}
    assert published - measured == set(documents)
    for name, all_of_it in documents.items():
        validator = jsonschema.Draft202012Validator(schema(name))
        for document in all_of_it:
            error = jsonschema.exceptions.best_match(validator.iter_errors(document))
            assert error is None, f"{name}: {error.json_path}: {error.message}"
            assert isinstance(document, list) or document["schema"] == f"goodness.{name.replace('-1', '/1')}"


def test_documents_that_lack_a_field_or_have_another_kind_are_rejected(documents: Documents) -> None:
    for name, all_of_it in documents.items():
        validator = jsonschema.Draft202012Validator(schema(name))
        tried = 0
        for spoiled, what in spoilt(all_of_it[0], schema(name)):
            assert not validator.is_valid(spoiled), f"{name} is valid with {what}"
            tried += 1
        assert tried >= 3, f"{name}: nothing was spoiled"


def spoilt(document: Any, of: Any) -> Iterator[tuple[Any, str]]:
    """The document without each of its required fields, and with each of them of a kind that none has."""
    if isinstance(document, list):
        item = of["items"]
        item = of["$defs"][item["$ref"].rsplit("/", 1)[1]] if "$ref" in item else item
        yield {}, "an object in place of an array"
        if "anyOf" in item:
            yield [{}], "an empty row"
            yield [True], "true in place of a row"
            return
        for spoiled, what in spoilt(document[0], item):
            yield [spoiled], f"a row with {what}"
        return
    for field in of["required"]:
        lacking = copy.deepcopy(document)
        del lacking[field]
        yield lacking, f"no {field}"
        other = copy.deepcopy(document)
        other[field] = {"planted": 1}
        if not is_free(of["properties"][field]):
            yield other, f"another kind of {field}"


def is_free(field: Any) -> bool:
    """True for fields that are maps, which an unknown key does not spoil at this depth."""
    return "additionalProperties" in field or field is True


@pytest.mark.parametrize("path", [["policies", 0, "metrics"], ["input", "name"], ["runs", 0, "values"]])
def test_what_lies_deeper_is_checked_too(path: list[Any], documents: Documents) -> None:
    for value in [None, True]:
        spoiled = copy.deepcopy(documents["report-1"][0])
        place = spoiled
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert not jsonschema.Draft202012Validator(schema("report-1")).is_valid(spoiled), f"{path}: {value}"
