"""Copies of CrewAI's objects of another class: the objects that the user has made stay as they are."""

from __future__ import annotations

from typing import Any


def recast(model: Any, kind: Any, **changes: Any) -> Any:
    """Return a shallow copy of a pydantic model as one of a subclass of its class, without validating it again.

    Args:
        model: The model; it is not changed.
        kind: The class of the copy.
        changes: Fields and private attributes that are different there.
    """
    made = kind.__new__(kind)
    known = kind.__private_attributes__
    private = {name: attribute.get_default() for name, attribute in known.items() if not hasattr(model, name)}
    private |= model.__pydantic_private__ or {}
    private |= {name: value for name, value in changes.items() if name in known}
    fields = model.__dict__ | {name: value for name, value in changes.items() if name not in known}
    object.__setattr__(made, "__dict__", fields)
    object.__setattr__(made, "__pydantic_fields_set__", set(model.__pydantic_fields_set__))
    object.__setattr__(made, "__pydantic_extra__", model.__pydantic_extra__)
    object.__setattr__(made, "__pydantic_private__", private)
    return made


def class_of(model: Any) -> Any:
    """Return the class of an object, of which nothing is known here."""
    return type(model)


def named_after(made: Any, kind: Any) -> Any:
    """Return a class under the name of another one: CrewAI tells names of classes to models and in events."""
    made.__name__ = made.__qualname__ = kind.__name__
    made.__module__ = kind.__module__
    return made
