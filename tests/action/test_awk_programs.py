"""Programs of awk: what only prints is recognised, and what could be read in two ways is not."""

import pytest

from aish.action.awk_programs import awk_only_prints


@pytest.mark.parametrize(
    "program",
    [
        "{print ($1+$2)/2}",
        '{printf "%.1f %.1f\\n", ($3)/1024/1024, ($4)/1024}',
        "{x = a[1]/b/2; print x}",
        "/a/ || !/b/ {print; next} END {print NR/2}",
        '{print "odd" > "/dev/stderr"; print}',
        "{if (/x/) print; else /y/}",
        "$1 > 3 && $2 ~ /^[a-z]+$/ {print $1, ($2 > 4)}",
        '{print $1,\n $2; x = y ?\n "a" : "b"}',
        "{a[$1]++} END {for (k in a) print k, a[k]}",
        '{gsub(/"/, "\'"); print}',
    ],
)
def test_a_program_that_only_prints_is_recognised(program: str) -> None:
    """Most programs are short filters."""
    assert awk_only_prints(program)


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN{if(0)x;else /"/; print "a" > "f"; if(0)x; else /"/}',
        '{if(1)/"/; print "a" | "sh"; /"/}',
        '{x = (1)/"/; print "a" > "f"; y = "/"}',
        '{print length /"/; print "a" | "sh"; /"/}',
        'BEGIN{print 1 ?\n2 : 3 > "f"}',
        'BEGIN{print 1 ? 2 :\n3 > "f"}',
        'BEGIN{print a,\n\n b > "f"}',
        'BEGIN{print !\nx > "f"}',
        'BEGIN{print(1)(2) > "f"}',
        'BEGIN{print a[1] >> "f"}',
        'BEGIN{printf "x" | "sh"}',
        '{print > "/dev/stderr" "x"}',
        '{print > "/dev/stdout/../../tmp/x"}',
        '{x++ /"/; print > "f"; /"/}',
        '/[\\]/]/ {print "/" > "f"}',
        '/[/]/ {print > "f"}',
        '{print (a)/x(/ > "f"}',
        'BEGIN{"date" | getline}',
        '@include "x"',
        '@load "x"',
        'BEGIN{f = "system"; @f("x")}',
        'BEGIN{extension("x.so", "f")}',
        "{print ENVIRON[1]}",
        '{print "a\\\nb" > "f"}',
        "/" + "[]a]" * 400,
    ],
)
def test_a_program_that_does_more_or_is_unclear_is_rejected(program: str) -> None:
    """A slash after `else`, a bracket or a function divides in one reading and begins a string in the other."""
    assert not awk_only_prints(program)
