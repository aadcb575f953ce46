"""Tables: read by data-frame libraries as they are, and shared without a copy."""

from pathlib import Path

import duckdb
import goodness as g
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

TABLES = ["runs", "metrics", "ranking", "tasks", "distributions", "schedule", "fidelity"]


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest, recorded: g.Comparison) -> g.Table:
    """Each table in turn."""
    if request.param == "schedule":
        return recorded.schedule(0)
    if request.param == "fidelity":
        return g.verify("apache-ab-c4-1cpu").metrics
    made: g.Table = getattr(recorded, request.param)
    return made


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


def test_two_readers_share_the_numbers_of_one_table(table: g.Table) -> None:
    one, other = pyarrow.table(table), pyarrow.table(table)
    for name in table.columns:
        buffers = [column.chunk(0).buffers() for column in (one[name], other[name])]
        addresses = [[buffer and buffer.address for buffer in of_one] for of_one in buffers]
        assert addresses[0] == addresses[1], name
    number = next(name for name in table.columns if pyarrow.types.is_floating(one[name].type)
                  or pyarrow.types.is_integer(one[name].type))
    taken = pyarrow.table(polars.DataFrame(table))[number].chunk(0)
    assert taken.buffers()[1].address == one[number].chunk(0).buffers()[1].address, "polars reads the same memory"


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
