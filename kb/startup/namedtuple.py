"""Values: tuples with names, like `typing.NamedTuple` and ten times cheaper to define.

A hook defines forty of them before it begins: with `typing` and `collections.namedtuple` that takes as long as
starting Python. So nothing on a hook's path loads `typing`; what it would be loaded for is said to the type checker.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""What `typing.TYPE_CHECKING` is, by the name type checkers look for."""

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    class _NamedTupleMeta(type):
        """Makes a class of annotated names into a tuple with these names."""

        def __new__(cls, name, bases, body):
            # NamedTuple itself has no fields: the classes derived from it do
            if not bases:
                return super().__new__(cls, name, (tuple,), body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            getters = {field: _tuplegetter(number, "") for number, field in enumerate(fields)}
            own = {"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return super().__new__(cls, name, bases, {**body, **getters, **own})

    class NamedTuple(metaclass=_NamedTupleMeta):
        """A tuple whose places have names and may have defaults; to be derived from."""

        __slots__ = ()
        _fields: tuple[str, ...]
        _field_defaults: dict[str, Any]

        def __new__(cls, *given: Any, **named: Any) -> NamedTuple:
            if named or len(given) != len(cls._fields):
                given = cls._complete_values(given, named)
            return tuple.__new__(cls, given)

        @classmethod
        def _complete_values(cls, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
            fields = cls._fields
            values = {**cls._field_defaults, **dict(zip(fields, given, strict=False)), **named}
            if (
                len(values) != len(fields)
                or len(given) > len(fields)
                or not named.keys().isdisjoint(fields[: len(given)])
            ):
                raise TypeError(f"{cls.__name__} has the fields {', '.join(fields)}, not {given} {named}")
            return [values[name] for name in fields]

        @classmethod
        def _make(cls, values: Iterable[Any]) -> NamedTuple:
            return cls(*values)

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named: Any) -> NamedTuple:
            values = [named.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            if named:
                raise ValueError(f"{type(self).__name__} has no {', '.join(named)}")
            return tuple.__new__(type(self), values)

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"
