"""Our own small NamedTuple is what `typing.NamedTuple` is, as far as kb uses it."""

import copy
import pickle
import typing

import pytest

from kb.startup.namedtuple import NamedTuple


class Ours(NamedTuple):
    name: str
    size: int = 3
    tags: tuple[str, ...] = ()

    @property
    def shout(self) -> str:
        return self.name.upper()


class Theirs(typing.NamedTuple):
    name: str
    size: int = 3
    tags: tuple[str, ...] = ()


@pytest.mark.parametrize("given, named", [(("a",), {}), (("a", 1, ("x",)), {}), ((), {"name": "a", "tags": ("b",)})])
def test_a_value_is_made_and_read_as_one_of_typing(given: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    ours, theirs = Ours(*given, **named), Theirs(*given, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.name, ours.size, ours.tags) == (theirs.name, theirs.size, theirs.tags)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours._asdict() == theirs._asdict()
    assert ours._replace(size=9) == theirs._replace(size=9)
    assert Ours._fields == Theirs._fields
    assert Ours._make(["z", 1, ()]) == Theirs._make(["z", 1, ()])
    assert hash(ours) == hash(theirs)
    assert ours.shout == "A"


@pytest.mark.parametrize(
    "given, named",
    [
        ((), {}),
        (("a", 1, (), 4), {}),
        (("a",), {"name": "b"}),
        (("a",), {"colour": 1}),
        ((), {"size": 1}),
    ],
)
def test_wrong_places_are_refused_as_by_typing(given: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    for made in (Ours, Theirs):
        with pytest.raises(TypeError):
            made(*given, **named)


def test_a_value_does_not_change_and_can_be_copied() -> None:
    value = Ours("a", tags=("b",))
    with pytest.raises(AttributeError):
        value.name = "c"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        value.other = 1  # type: ignore[attr-defined]
    assert copy.deepcopy(value) == value
    assert type(pickle.loads(pickle.dumps(value))) is Ours
    match value:
        case Ours(name, 3, tags):
            assert (name, tags) == ("a", ("b",))
        case _:
            pytest.fail("the places are not known to match")
