"""Comparisons: same answers as the command line, errors with place and remedy, many threads."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import goodness as g
import pytest
from conftest import SMALL

ROOT = Path(__file__).parents[2]


def program() -> list[str]:
    """The program built by Cargo, if the script that runs these tests made one; else that of the package."""
    built = os.environ.get("GOODNESS_PROGRAM")
    return [built] if built else [sys.executable, "-m", "goodness"]


def typed(*words: str) -> str:
    """What the program prints."""
    return subprocess.run([*program(), *words], check=True, capture_output=True, text=True).stdout


def same(compared: g.Comparison, *words: str) -> bool:
    """True if the command line writes the same bytes; only the command that was typed has another name."""
    said = typed("compare", *words, "--no-html", "--json=-")
    commands = [line for text in (said, compared.to_json()) for line in text.splitlines() if '"command": ' in line]
    assert len(commands) == 2 and "goodness compare" in commands[0] and "goodness.compare(" in commands[1]
    return said.replace(commands[0], commands[1]) == compared.to_json()


def test_the_report_is_byte_for_byte_that_of_the_command_line(small: g.Comparison) -> None:
    assert same(small, SMALL, "-p", "eevdf", "-p", "rr", "-p", "o1", "--runs", "4", "--seed", "7")
    assert not same(small, SMALL, "-p", "eevdf", "-p", "rr", "-p", "o1", "--runs", "4", "--seed", "8")


def test_arms_on_a_recording_are_those_of_the_command_line() -> None:
    arms = [g.arm("eevdf", base_slice="3ms"), g.arm(nice={"ab": 5}), g.arm(cls={"ab": "batch"}, cpus=2)]
    compared = g.compare("apache-ab-c4-1cpu", arms, runs=2)
    options = [word for arm in arms for word in ("--arm", str(arm))]
    assert same(compared, "apache-ab-c4-1cpu", *options, "--runs", "2")
    assert compared.arms == ["base", *map(str, arms)]


def test_arms_on_a_disk_run_behind_the_default_elevator_as_on_the_command_line() -> None:
    disk = str(ROOT / "examples/05-disk.toml")
    compared = g.compare(disk, arms=["eevdf:base_slice=6ms"], runs=2)
    assert same(compared, disk, "--arm", "eevdf:base_slice=6ms", "--runs", "2")
    assert "mq-deadline" in compared.arms[0]


def test_several_recordings_are_the_sample_or_the_arms() -> None:
    names = ["apache-ab-c4-1cpu", "apache-ab-c24-1cpu"]
    pair = g.compare(names, arms=["eevdf:base_slice=6ms"], runs=2)
    assert same(pair, *names, "--arm", "eevdf:base_slice=6ms", "--runs", "2")
    as_arms = g.compare(names, as_arms=True)
    assert same(as_arms, *names, "--as-arms")
    with pytest.raises(g.UsageError, match="not simulated"):
        as_arms.schedule(0)


def test_opened_work_is_compared_many_times_and_has_its_options() -> None:
    work = g.workload("mixed", hogs=8, duration="300ms", machine="cpus=2")
    assert (work.name, work.cpus) == ("mixed:hogs=8,duration=300ms", 2)
    assert eval(repr(work), {"goodness": g}).name == work.name
    one, other = (g.compare(work, policies=["rr"], runs=2).to_json() for _ in range(2))
    assert one == other
    assert json.loads(one)["machine"]["cpus"] == 2


def test_elevators_cross_with_policies() -> None:
    work = g.experiment(ROOT / "examples/05-disk.toml")
    compared = g.compare(work, elevators=["none", "bfq:low_latency=off"], runs=2)
    assert compared.arms == ["eevdf+none", "eevdf+bfq:low_latency=off"]


def test_the_answer_is_there_before_the_tables(small: g.Comparison) -> None:
    assert repr(small).replace("\n", " ").startswith(small.conclusion)
    assert small.ranked_by == "wakeup_latency_p99"
    assert small.arms == ["eevdf", "rr", "o1"]
    assert small.to_dict()["schema"] == "goodness.report/1"


def test_a_schedule_is_that_of_the_run(small: g.Comparison) -> None:
    first, again, other = small.schedule("o1"), small.schedule(2, 0), small.schedule("o1", 1)
    assert first.to_dicts() == again.to_dicts() != other.to_dicts()
    busy = sum(end - start for start, end in zip(first["start"], first["end"]))
    spent = sum(t["cpu_time"] for t in small.tasks.to_dicts() if t["arm"] == "o1")
    assert abs(busy - spent) <= spent // 100, "the schedule's slices are the tasks' CPU time"


def test_the_call_that_a_report_repeats_gives_the_same_report(small: g.Comparison) -> None:
    call = small.to_dict()["details"]["command"]
    assert eval(call, {"goodness": g}).to_json() == small.to_json()


def test_figures_are_files_for_print(small: g.Comparison, tmp_path: Path) -> None:
    for name in ("ranking", "distribution", "runs"):
        figure = small.figure(name)
        figure.save(tmp_path / f"{name}.pdf")
        figure.save(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / f"{name}.svg").read_text() == figure.to_svg() == figure._repr_svg_()
    with pytest.raises(g.UsageError, match="ranking"):
        small.figure("rankings")
    with pytest.raises(g.UsageError, match=".svg or .pdf"):
        small.figure("runs").save(tmp_path / "runs.png")
    assert g.__version__ in small.citation()


def test_what_a_page_and_a_notebook_show_needs_nothing_from_elsewhere(small: g.Comparison, tmp_path: Path) -> None:
    small.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("data-timeline") >= 3
    for html in (small._repr_html_(), small.runs._repr_html_()):
        assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
        assert "<table" in html and "<script" not in html
    assert "<svg" in small._repr_html_()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: g.compare("mixedd"), 'the nearest is "mixed". See goodness.workloads() and goodness.recordings().'),
        (lambda: g.compare(SMALL, policies=["ffio"]), 'the nearest is "fifo". See goodness.policies().'),
        (lambda: g.compare(SMALL, ["rr:timeslise=2ms"]), 'the nearest is "timeslice". See goodness.policies("rr").'),
        (lambda: g.workload("mixed", hogss=8), 'the nearest is "hogs". See goodness.workloads("mixed").'),
        (lambda: g.compare(SMALL, rank_by="wakeup_latency_p9"), "See goodness.metrics()."),
        (lambda: g.compare(SMALL, machine="cpus=0"), "cpus"),
        (lambda: g.compare(SMALL, judge="nobody"), "has that name"),
        (lambda: g.recording("apache-ab-c4-1cpu", arrivals="late"), "write delays or recorded"),
        (lambda: g.compare(SMALL, runs=0), "runs is in 1 ..= 10000"),
        (lambda: g.compare(SMALL, "rr"), "write a list: arms=['rr']"),
        (lambda: g.compare(SMALL, ["rr"], policies=["o1"]), "leave one out"),
        (lambda: g.compare([]), "name a recording, a file or a workload"),
        (lambda: g.arm(base_slice="3ms"), "name it first"),
        (lambda: g.arm(nice={"a b": 3}), "contains a blank"),
        (lambda: g.verify(SMALL), "is not a recording"),
        (lambda: g.study("travis"), "there is no study"),
        (lambda: g.policies("rrr"), 'the nearest is "rr"'),
        (lambda: g.compare(SMALL, ["nobody.nice=3"]), "nobody"),
    ],
)
def test_bad_input_is_an_exception_with_its_remedy(call: object, sentence: str) -> None:
    with pytest.raises(g.UsageError) as raised:
        call()  # type: ignore[operator]
    assert sentence in str(raised.value)
    assert "--" not in str(raised.value) and "goodness list" not in str(raised.value)
    assert isinstance(raised.value, (g.Error, ValueError))


def test_an_exception_has_the_place_and_the_remedy_apart(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[[tasks]]\nname = 3\n")
    with pytest.raises(g.UsageError, match="bad.toml"):
        g.experiment(file)
    with pytest.raises(g.UsageError) as raised:
        g.compare(SMALL, policies=["rr:timeslice=2d"])
    assert raised.value.place == "rr" or raised.value.place == "policy rr"
    with pytest.raises(g.Failure, match="parquet"):
        g.compare(SMALL, policies=["rr"], runs=1).runs.save(tmp_path / "none" / "runs.parquet")


def test_eight_threads_get_the_same_answers(small: g.Comparison) -> None:
    answers: list[str] = []

    def ask() -> None:
        answers.append(g.compare(SMALL, policies=["eevdf", "rr", "o1"], runs=4, seed=7).to_json())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [small.to_json()] * 8


def test_a_forked_process_compares_too() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    g.compare(SMALL, policies=["rr"], runs=2)
    code = """
import os, goodness as g
before = g.compare("mixed:duration=100ms", policies=["rr"], runs=2).to_json()
child = os.fork()
if child == 0:
    os._exit(0 if g.compare("mixed:duration=100ms", policies=["rr"], runs=2).to_json() == before else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_verification_is_that_of_the_command_line() -> None:
    found = g.verify("apache-ab-c4-1cpu")
    assert found.to_json() == typed("verify", "apache-ab-c4-1cpu", "--json")
    assert found.holds in (True, False, None)
    assert repr(found).startswith("apache-ab-c4-1cpu: the replay keeps")


def test_a_study_of_ones_own_is_conducted(tmp_path: Path) -> None:
    study = g.study(ROOT / "examples/06-a-textbook-table", runs=2, quick=True)
    assert study.to_dict()["schema"] == "goodness.study/1"
    study.report(tmp_path / "study.html")
    assert "<!doctype html>" in (tmp_path / "study.html").read_text().lower()


def test_lists_have_names_and_summaries() -> None:
    lists = [g.policies, g.elevators, g.devices, g.metrics, g.workloads, g.machines, g.formats, g.recordings, g.studies]
    for of in lists:
        entries = of()
        assert entries and all(entry["name"] and entry["summary"] for entry in entries)
        assert of(entries[0]["name"]) == entries[0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="recording is for Linux")
def test_recording_without_the_rights_says_what_is_missing(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        with pytest.raises(g.UsageError, match="unit"):
            g.record(tmp_path / "a.ftrace.gz", duration="5 fortnights")
    else:
        with pytest.raises(g.Error, match="root"):
            g.record(tmp_path / "a.ftrace.gz", duration="1s")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calibrating is for Linux")
def test_a_calibrated_disk_has_a_file_and_its_figures_and_a_bad_one_a_sentence(tmp_path: Path) -> None:
    # Beside the tests: temporary folders may be memory, which has no direct I/O.
    with tempfile.NamedTemporaryFile(dir=Path(__file__).parent) as disk:
        disk.write(b"goodness" * (8 << 20))
        disk.flush()
        found = g.calibrate(tmp_path / "disk.toml", device=disk.name)
        assert found["schema"] == "goodness.calibrate-disk/1" and isinstance(found["is_trusted"], bool)
        assert all(load["iops"] > 0 and load["p99_ns_predicted"] > 0 for load in found["loads"])
        assert "[read.random]" in (tmp_path / "disk.toml").read_text()
        with pytest.raises(g.UsageError, match="TOML"):
            g.calibrate(tmp_path / "disk.json", device=disk.name)
    with pytest.raises(g.UsageError, match="name a disk, or a file of 64 MiB or more"):
        g.calibrate(tmp_path / "disk.toml", device="/none")
