"""What pydantic says of data that are not what they should be, as it crosses a door."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, to_jsonable_python

from chaosagent.adapters.doors import await_answer
from chaosagent.targets.call_handler import Handler


class ValidationFailure(Exception):
    """Stands for a `ValidationError` where that crosses: an exact replay cannot make one of what it keeps.

    Frameworks tell it the model. It comes from arguments that an injection has altered, which are validated once more
    behind the door, and from tools themselves. Doors declare this class; who calls them raises `error()` in its place.
    """

    @classmethod
    def of(cls, error: ValidationError) -> ValidationFailure:
        """Return what crosses."""
        facts = error.errors(include_url=False)
        return cls(error.title, to_jsonable_python(facts, fallback=str, serialize_unknown=True))

    def error(self) -> ValidationError:
        """Return pydantic's exception again, with the same texts."""
        title, facts = self.args
        return ValidationError.from_exception_data(title, [_details(one) for one in facts])


def validation_errors(handler: Handler) -> Handler:
    """Return a handler that raises a `ValidationFailure` where another one raises a `ValidationError`."""

    async def crossing(given: dict[str, Any]) -> Any:
        try:
            return await await_answer(handler(given))
        except ValidationError as error:
            raise ValidationFailure.of(error) from error

    return crossing


@contextmanager
def own_validation_errors() -> Iterator[None]:
    """Raise pydantic's `ValidationError` again for a `ValidationFailure` that has crossed."""
    try:
        yield
    except ValidationFailure as failed:
        raise failed.error() from None


def _details(fact: dict[str, Any]) -> InitErrorDetails:
    # With the text as it is: what pydantic would make of a type of error depends on objects that have not crossed.
    kind = PydanticCustomError(fact["type"], fact["msg"])
    return InitErrorDetails(type=kind, loc=tuple(fact["loc"]), input=fact["input"])
