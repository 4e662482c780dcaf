"""Named tuples: like those of `typing`, and defined faster."""

import copy
import pickle
import typing
from typing import Generic, TypeVar

import pytest

from aish.values.named_tuple import NamedTuple

Kind = TypeVar("Kind")


class Kettle(NamedTuple):
    """One that boils water."""

    colour: str
    litres: float = 1.5
    owners: tuple[str, ...] = ()

    @property
    def is_big(self) -> bool:
        return self.litres > 2


class Expected(typing.NamedTuple):
    """The same, of the standard library."""

    colour: str
    litres: float = 1.5
    owners: tuple[str, ...] = ()


class Box(NamedTuple, Generic[Kind]):
    """One with a type variable."""

    content: Kind


class Wide(NamedTuple):
    """More fields than there are ready-made constructors."""

    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    g: int
    h: int
    i: int
    j: int
    k: int
    m: int
    n: int
    o: int = 14


def test_fields_defaults_and_keywords_are_those_of_the_standard_library() -> None:
    """Readers know `typing.NamedTuple`, and need to learn nothing."""
    for arguments, named in ((("red",), {}), (("red", 2.5), {"owners": ("Ann",)}), ((), {"litres": 3.0, "colour": ""})):
        ours, theirs = Kettle(*arguments, **named), Expected(*arguments, **named)
        assert tuple(ours) == tuple(theirs)
        assert ours._asdict() == theirs._asdict()
        assert tuple(ours._replace(litres=9.0)) == tuple(theirs._replace(litres=9.0))
        assert repr(ours) == repr(theirs).replace("Expected", "Kettle")
        assert (ours.colour, ours.litres, ours.owners) == tuple(theirs)
    assert (Kettle._fields, Kettle._field_defaults) == (Expected._fields, Expected._field_defaults)
    assert Kettle("red", 3.0).is_big
    assert Kettle._make(["red", 2.0, ()]) == Kettle("red", 2.0)


@pytest.mark.parametrize("named", [{}, {"colour": "red", "handle": 1}])
def test_wrong_arguments_are_refused_in_the_same_words(named: dict[str, object]) -> None:
    """The message names the class and the field."""
    with pytest.raises(TypeError) as theirs:
        Expected(**named)  # type: ignore[arg-type]
    with pytest.raises(TypeError) as ours:
        Kettle(**named)  # type: ignore[arg-type]

    assert str(ours.value) == str(theirs.value).replace("Expected", "Kettle")


def test_a_named_tuple_cannot_be_changed() -> None:
    """Neither a field nor a new attribute: there is no dictionary behind it."""
    kettle = Kettle("red")

    for name in ("colour", "handle"):
        with pytest.raises(AttributeError):
            setattr(kettle, name, "blue")
    with pytest.raises(ValueError, match="handle"):
        kettle._replace(handle=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Kettle._make(["red"])


def test_it_can_be_matched_copied_and_pickled() -> None:
    """The worker processes of tests and tools send such values to each other."""
    match Kettle("red", 2.0):
        case Kettle(colour, litres=litres):
            assert (colour, litres) == ("red", 2.0)
    for made in (copy.copy(Kettle("red")), copy.deepcopy(Kettle("red")), pickle.loads(pickle.dumps(Kettle("red")))):
        assert (type(made), made) == (Kettle, Kettle("red"))


def test_a_class_may_have_a_type_variable_or_many_fields() -> None:
    """Both are rare, and work as usual."""
    assert Box[int](3).content == 3
    assert Wide(*range(1, 14)) == tuple(range(1, 15))
    assert Wide(*range(1, 14)).n == 13
    assert Wide(**dict(zip(Wide._fields, range(14), strict=True))).a == 0


def test_a_mistake_in_a_class_is_found_when_it_is_defined() -> None:
    """As in the standard library."""
    with pytest.raises(TypeError, match="without a default"):

        class Late(NamedTuple):
            first: int = 1
            second: int  # type: ignore[misc]

    with pytest.raises(AttributeError):

        class Own(NamedTuple):
            first: int

            def _replace(self) -> None: ...  # type: ignore[misc]
