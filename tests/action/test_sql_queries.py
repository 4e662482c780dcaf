"""Database queries: only what means the same in every database is read."""

import contextlib
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.sql_queries import lists_tables, sql_only_reads


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from users where name = 'it''s' and age >= 18;",
        'SELECT "first name", created_at::date FROM t ORDER BY 1 LIMIT 5',
        "with x as (select a->>'b' from t) select * from x union all values (1, 2.5e3)",
        "(select 1) union (select 2)",
        "show tables; describe t",
        "explain delete from t",
        "select 'drop table t; -- no'",
        "pragma table_info(users)",
        "PRAGMA integrity_check(10);",
        "pragma journal_mode",
    ],
)
def test_a_query_that_reads_is_recognised(query: str) -> None:
    """The words of a command inside a string do nothing."""
    assert sql_only_reads(query)


@pytest.mark.parametrize(
    "query",
    [
        "", "delete from t", "select 1; drop table t", "with x as (delete from t returning *) select * from x",
        "select [edit]('a')", "select `edit`('a')", "select \"edit\"('a')", "select readfile('x')",
        "select other.count(1)", "select $a$'$a$; drop table t; select $a$'$a$", "select $$x$$",
        "select E'\\'; drop table t; --'", "select e'x'", "select U&'x'", "select N'x'", "select 'a' 'b' \\g out",
        "select 1 -- x", "select 1 /* x */", "select 1 # x", "select 'a\\'; drop table t; select '", "select 1into t",
        "select 1 into t", "explain analyze delete from t", "explain (analyze) delete from t", "select @a := 1",
        "select 1\nsystem ls", "select 1\n source f", "pragma journal_mode(wal)", "pragma journal_mode = wal",
        "pragma user_version(3)", "pragma encoding('x')", "select 'open", ".shell ls", "call f()", "select ?",
        "select {fn user()}", "values (1); vacuum", "1; select 1",
    ],
)  # fmt: skip
def test_a_query_that_does_more_or_is_quoted_in_one_dialect_is_rejected(query: str) -> None:
    """Databases disagree about brackets, backticks, dollars, backslashes and comments."""
    assert not sql_only_reads(query)


def test_only_listing_commands_of_clients_are_known() -> None:
    """The others run programs, read files or write them."""
    assert lists_tables("\\dt+ public.users")
    assert lists_tables(".schema users")
    for command in ("\\! ls", "\\copy t to f", ".shell ls", ".output f", "\\dt\n\\! ls", ".tables;.shell ls"):
        assert not lists_tables(command), command


PIECES = (
    "select drop delete from table t a 1 'x' ' '' \" [ ] ` $ $a$ \\ -- /* */ # ; ( ) , . * e' E' [edit] count( union "
    "values pragma user_version ( 5 ) = into insert with as"
).split()


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, " ", "\n", "; drop table t;", "; delete from t;"]), max_size=12))
def test_sqlite_agrees_that_an_accepted_query_only_reads(pieces: list[str]) -> None:
    """Quotes and comments in any order: whatever is accepted, a real database sees nothing but reading in it."""
    query = "select " + " ".join(pieces)
    if not sql_only_reads(query):
        return
    done: set[int] = set()
    database = sqlite3.connect(":memory:")
    try:
        database.execute("create table t (a)")

        def note(action: int, *_: object) -> int:
            done.add(action)
            return sqlite3.SQLITE_OK

        database.set_authorizer(note)
        with contextlib.suppress(sqlite3.Error):
            database.executescript(query)
    finally:
        database.close()
    assert done <= {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
