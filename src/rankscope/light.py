"""Frozen records, as `dataclasses` makes them, for the modules that every evaluation loads.

A dataclass costs about half a millisecond to define, since its methods are written as text and compiled each time a
program starts; the thirty of a plain evaluation took longer than a small evaluation itself. A `LightRecord` inherits
its methods, so defining one costs hardly more than any other class. Modules loaded on demand use `rankscope.records`.

    class Interval(LightRecord):
        low: float
        high: float
        level: float = 0.95

Records are compared and hashed by their values, unless the class says `eq=False`; with `kw_only=True` the values are
given by name; `many=True` is for records that are made by the thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform

if TYPE_CHECKING:
    import inspect

AnyLightRecord = TypeVar("AnyLightRecord", bound="LightRecord")

MISSING: Any = object()
"""Stands for a default that there is not."""


class Field:
    """One value of a record: its type and default, and whether it is printed and compared."""

    __slots__ = ("annotation", "compare", "default", "factory", "kw_only", "name", "repr")

    def __init__(self, default: Any, factory: Any = MISSING, *, repr: bool = True, compare: bool = True) -> None:  # noqa: A002 (as dataclasses)
        self.default, self.factory, self.repr, self.compare = default, factory, repr, compare
        self.name = self.annotation = ""
        self.kw_only = False

    @property
    def is_required(self) -> bool:
        return self.default is MISSING and self.factory is MISSING


def field(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] = MISSING,
    repr: bool = True,  # noqa: A002 (as dataclasses)
    compare: bool = True,
) -> Any:
    """Say more of a value than its default, as `dataclasses.field` does."""
    return Field(default, default_factory, repr=repr, compare=compare)


class SignatureOnDemand:
    """How a record is made, for help and documentation; worked out when somebody asks."""

    def __get__(self, record: Any, owner: type[LightRecord]) -> inspect.Signature:
        from inspect import Parameter, Signature

        by_position_first = sorted(owner.__record_fields__.values(), key=lambda each: each.kw_only)
        parameters = []
        for each in by_position_first:
            kind = Parameter.KEYWORD_ONLY if each.kw_only else Parameter.POSITIONAL_OR_KEYWORD
            default = each.default if each.factory is MISSING else each.factory()
            if each.is_required:
                default = Parameter.empty
            parameters.append(Parameter(each.name, kind, default=default, annotation=each.annotation))
        return Signature(parameters)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class LightRecord:
    """A class whose attributes are the values it is made from, and stay so."""

    __record_fields__: ClassVar[Mapping[str, Field]] = {}
    __record_defaults__: ClassVar[Mapping[str, Any]] = {}
    __record_factories__: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    if TYPE_CHECKING:
        __match_args__: ClassVar[tuple[str, ...]]
    else:
        __signature__ = SignatureOnDemand()

        def __init__(self, *values: Any, **named: Any) -> None:
            if values:
                given = dict(zip(self.__match_args__, values, strict=False))
                if len(given) < len(values) or not named.keys().isdisjoint(given):
                    raise_wrong_arguments(type(self), values, named)
                named |= given
            state = {**self.__record_defaults__, **named}
            for name, factory in self.__record_factories__.items():
                if name not in state:
                    state[name] = factory()
            if state.keys() != self.__record_fields__.keys():
                raise_wrong_arguments(type(self), (), named)
            object.__setattr__(self, "__dict__", state)
            self.__post_init__()

    def __init_subclass__(cls, *, eq: bool = True, kw_only: bool = False, many: bool = False) -> None:
        """Note the fields of a new kind of record."""
        super().__init_subclass__()
        cls.__record_fields__ = {**cls.__record_fields__, **own_fields(cls, kw_only=kw_only)}
        fields = cls.__record_fields__.values()
        cls.__record_defaults__ = {each.name: each.default for each in fields if each.default is not MISSING}
        cls.__record_factories__ = {each.name: each.factory for each in fields if each.factory is not MISSING}
        by_position = [each for each in fields if not each.kw_only]
        type.__setattr__(cls, "__match_args__", tuple(each.name for each in by_position))
        optional = ""
        for each in by_position:
            if not each.is_required:
                optional = each.name
            elif optional:
                raise TypeError(
                    f"{cls.__name__}: {each.name} has no default, but stands behind {optional}, which has one"
                )
        if not eq:
            cls.__eq__ = object.__eq__  # type: ignore[method-assign]
            cls.__hash__ = object.__hash__  # type: ignore[method-assign]
        if many:
            type.__setattr__(cls, "__init__", compiled_init(cls))

    def __post_init__(self) -> None:
        """Check or complete the values, where a record has need of that."""

    def __setattr__(self, name: str, value: Any) -> None:
        self.__delattr__(name)

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"a {type(self).__name__} stays as it is: {name} cannot be changed")

    def __repr__(self) -> str:
        shown = (name for name, each in self.__record_fields__.items() if each.repr)
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return compared(self) == compared(other)

    def __hash__(self) -> int:
        return hash(compared(self))

    def __replace__(self, **changes: Any) -> Self:
        """Return a copy with some values changed."""
        return type(self)(**{**asdict(self), **changes})


def own_fields(owner: type[Any], *, kw_only: bool) -> dict[str, Field]:
    """Return what a class says of its own values; a default stays an attribute of the class."""
    annotated: dict[str, str] = vars(owner).get("__annotations__", {})
    is_later = any(name.startswith("__annotate_") for name in vars(owner))  # as Python 3.14 has it
    if is_later or not all(isinstance(annotation, str) for annotation in annotated.values()):
        raise TypeError(f"{owner.__name__}: a module of records needs `from __future__ import annotations`")
    fields: dict[str, Field] = {}
    for name, annotation in annotated.items():
        if annotation.startswith("ClassVar"):
            continue
        given = vars(owner).get(name, MISSING)
        if not isinstance(given, Field):
            given = Field(given)
        elif given.default is MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, given.default)
        given.name, given.annotation, given.kw_only = name, annotation, kw_only
        fields[name] = given
    return fields


def compiled_init(owner: type[LightRecord]) -> Any:
    """Return an `__init__` of the class's own, as dataclasses have it: slow to make, but five times as fast."""
    if owner.__record_factories__:
        raise TypeError(f"{owner.__name__}: records of which there are many have plain defaults")

    def parameter(each: Field) -> str:
        return each.name if each.is_required else f"{each.name}=defaults[{each.name!r}]"

    fields = owner.__record_fields__.values()
    by_name_only = [parameter(each) for each in fields if each.kw_only]
    by_position = [parameter(each) for each in fields if not each.kw_only]
    parameters = ["self", *by_position, *(["*", *by_name_only] if by_name_only else [])]
    state = ", ".join(f"{each.name!r}: {each.name}" for each in fields)
    text = f"def __init__({', '.join(parameters)}):\n set_(self, '__dict__', {{{state}}})\n self.__post_init__()"
    names: dict[str, Any] = {"defaults": owner.__record_defaults__, "set_": object.__setattr__}
    exec(text, names)  # noqa: S102 (made of the names of the fields alone)
    return names["__init__"]


def raise_wrong_arguments(owner: type[LightRecord], values: Sequence[Any], named: Mapping[str, Any]) -> NoReturn:
    """Say which value is missing, unknown or given twice."""
    maker, by_position = f"{owner.__name__}()", owner.__match_args__
    if len(values) > len(by_position):
        raise TypeError(f"{maker} takes {len(by_position)} values by position, not {len(values)}")
    for name in named:
        if name not in owner.__record_fields__:
            raise TypeError(f"{maker} got an unexpected argument {name!r}")
        if name in by_position[: len(values)]:
            raise TypeError(f"{maker} got {name} twice")
    given = {*by_position[: len(values)], *named}
    missing = [each.name for each in owner.__record_fields__.values() if each.is_required and each.name not in given]
    raise TypeError(f"{maker} is missing {', '.join(missing)}")


def compared(record: LightRecord) -> tuple[Any, ...]:
    """Return the values by which records are equal."""
    return tuple(getattr(record, name) for name, each in record.__record_fields__.items() if each.compare)


def names_of(record: LightRecord | type[LightRecord]) -> tuple[str, ...]:
    """Return the names of the values of a record, or of a kind of record."""
    return tuple(record.__record_fields__)


def types_of(record: LightRecord | type[LightRecord]) -> dict[str, str]:
    """Return the annotations of the values of a record by name, as they are written."""
    return {name: each.annotation for name, each in record.__record_fields__.items()}


def asdict(record: LightRecord) -> dict[str, Any]:
    """Return the values by name, as they are: unlike `dataclasses.asdict`, it copies nothing."""
    return {name: getattr(record, name) for name in record.__record_fields__}


def replace(record: AnyLightRecord, **changes: Any) -> AnyLightRecord:
    """Return a copy of a record with some values changed."""
    return record.__replace__(**changes)
