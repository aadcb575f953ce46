"""Tables: every one of the package is read by data-frame libraries as it is, and shared without a copy."""

import re
from pathlib import Path

import duckdb
import goodness as g
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import define

GROUPS = """
duration = "1s"
machine = { cpus = 1 }
group = [{ name = "web", cpu_max = "20ms/100ms" }]
[[task]]
name = "worker"
group = "web"
program = [ { compute = "forever" } ]
"""

#: Where each table is found, by the class that gives it. The test below holds this list against the stubs.
TABLES = {
    "Comparison": ["runs", "metrics", "ranking", "tasks", "requests", "groups", "distributions", "schedule"],
    "Verification": ["metrics"],
    "Study": ["rows"],
    "SweepSummary": ["effects", "responses", "places"],
    "Suite": ["costs"],
    "Tuning": ["candidates"],
    "Explanation": ["segments", "latencies", "causes"],
    "Difference": ["metrics", "tasks"],
}
NAMES = [f"{of}.{name}" for of, names in TABLES.items() for name in names]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> g.Comparison:
    """A comparison of work with a group that has a limit."""
    file = tmp_path_factory.mktemp("groups") / "groups.toml"
    file.write_text(GROUPS)
    return g.compare(g.experiment(file), policies=["eevdf"], runs=1)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> g.Sweep:
    """A small sweep."""
    return g.sweep(define(tmp_path_factory.mktemp("sweep"), 3, "50ms", 4))


@pytest.fixture(scope="module", params=NAMES)
def table(request: pytest.FixtureRequest, recorded: g.Comparison) -> g.Table:
    """Each table in turn."""
    of, name = request.param.split(".")
    givers = {
        "Comparison": lambda: request.getfixturevalue("limited") if name == "groups" else recorded,
        "Verification": lambda: g.verify("apache-ab-c4-1cpu"),
        "Study": lambda: g.study(Path(__file__).parents[2] / "examples/06-a-textbook-table", runs=2, quick=True),
        "SweepSummary": lambda: request.getfixturevalue("swept"),
        "Explanation": lambda: g.why(Path(__file__).parents[2] / "examples/09-priority-inversion.toml"),
        "Difference": lambda: g.diff("mixed:duration=300ms", policies=["eevdf", "rr"], runs=2),
        "Suite": lambda: g.compare_suite(["mixed:duration=300ms"], policies=["eevdf", "rr"], runs=2),
        "Tuning": lambda: g.tune("mixed:duration=300ms", ["base_slice=0.7ms..12ms"], runs=3),
    }
    made = getattr(givers[of](), name)
    table: g.Table = made(0) if name == "schedule" else made
    return table


def test_the_tables_tested_here_are_all_that_there_are() -> None:
    stubs = (Path(g.__file__).parent / "_goodness.pyi").read_text()
    classes = re.findall(r"^class (\w+):\n(.*?)(?=^\S|\Z)", stubs, re.MULTILINE | re.DOTALL)
    found = {name: re.findall(r"def (\w+)\(.*-> Table:", body) for name, body in classes}
    assert {name: tables for name, tables in found.items() if tables} == TABLES


def test_each_library_reads_each_table(table: g.Table) -> None:
    rows = table.to_dicts()
    assert len(rows) == len(table) > 0
    arrow = pyarrow.table(table)
    assert arrow.column_names == table.columns
    assert arrow.to_pylist() == rows
    assert polars.DataFrame(table).to_dicts() == rows
    assert table.to_polars().to_dicts() == rows
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == table.columns and len(frame) == len(rows)
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert len(pandas.DataFrame.from_arrow(table)) == len(rows)
    assert duckdb.sql("select count(*) from arrow").fetchall() == [(len(rows),)]
    shown = duckdb.from_arrow(arrow).fetchall()
    assert [dict(zip(table.columns, row)) for row in shown] == rows


def test_duckdb_takes_the_stream_itself(recorded: g.Comparison) -> None:
    ranking = recorded.ranking  # noqa: F841, the query names it
    rows = duckdb.sql("select arm, value from ranking order by value").fetchall()
    assert [row[0] for row in rows] == recorded.ranking["arm"]


def address(column: pyarrow.ChunkedArray) -> int:
    """Where the values of a column are in memory."""
    buffer = column.chunk(0).buffers()[1]
    assert column.num_chunks == 1 and buffer is not None
    return int(buffer.address)


def test_numbers_are_shared_and_not_copied(table: g.Table) -> None:
    one, other = pyarrow.table(table), pyarrow.table(table)
    for name in table.columns:
        buffers = [column.chunk(0).buffers() for column in (one[name], other[name])]
        addresses = [[buffer and buffer.address for buffer in of_one] for of_one in buffers]
        assert addresses[0] == addresses[1], name
    numbers = [field.name for field in one.schema if not pyarrow.types.is_dictionary(field.type)]
    assert numbers
    taken = pyarrow.table(polars.DataFrame(table))
    for name in numbers:
        assert address(taken[name]) == address(one[name]), f"polars copies {name}"
        if one[name].null_count == 0:
            viewed = one[name].chunk(0).to_numpy(zero_copy_only=True)
            assert viewed.__array_interface__["data"][0] == address(one[name]), f"NumPy copies {name}"
    # Negative control: what is computed is elsewhere.
    doubled = pyarrow.table(polars.DataFrame(table).select(polars.col(numbers[0]) * 2))
    assert address(doubled[numbers[0]]) != address(one[numbers[0]])


def test_requests_are_counted_by_run(recorded: g.Comparison) -> None:
    frame = recorded.requests.to_polars()
    assert frame["arm"].unique(maintain_order=True).to_list() == recorded.arms
    assert frame.filter(arm=recorded.arms[0])["run"].to_list() == [0, 1, 2]
    values = recorded.runs.to_polars().filter(metric="request_latency_p50", arm=recorded.arms[0])["value"]
    assert frame.filter(arm=recorded.arms[0])["latency_p50"].to_list() == values.to_list()
    assert min(frame["requests"]) > 100
    assert all(row["latency_p50"] <= row["latency_p99"] <= row["latency_max"] for row in frame.to_dicts())
    assert len(g.compare("mixed:duration=100ms", policies=["rr"], runs=1).requests) == 0


def test_a_table_that_is_gone_leaves_its_readers_their_memory() -> None:
    arrow = pyarrow.table(g.compare("mixed:duration=200ms", policies=["rr"], runs=2).runs)
    assert all(seed == 1 for seed in arrow["seed"].to_pylist())


def test_the_schema_says_what_each_column_is(table: g.Table) -> None:
    schema = pyarrow.schema(table)
    assert schema.metadata[b"schema"].decode() == table.schema_name
    for field in schema:
        assert field.metadata[b"about"].decode() == table.about[field.name]


def test_a_column_that_is_not_there_is_named_with_those_that_are(recorded: g.Comparison) -> None:
    with pytest.raises(g.UsageError, match="its columns are arm, metric"):
        recorded.ranking["vlaue"]


def test_files_hold_what_the_table_holds(recorded: g.Comparison, tmp_path: Path) -> None:
    runs = recorded.runs
    for name in ("runs.csv", "runs.parquet", "runs.arrow"):
        runs.save(tmp_path / name)
    assert pyarrow.parquet.read_table(tmp_path / "runs.parquet").to_pylist() == runs.to_dicts()
    assert polars.read_ipc(tmp_path / "runs.arrow").to_dicts() == runs.to_dicts()
    assert polars.read_csv(tmp_path / "runs.csv").height == len(runs)
    with pytest.raises(g.UsageError, match="ends with .csv, .parquet or .arrow"):
        runs.save(tmp_path / "runs.xls")
