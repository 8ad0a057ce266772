"""Loading the user's code by a reference: `module:attribute` or `file.py:attribute`."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from chaosagent.errors import ChaosAgentError, TargetError, UnknownNameError, UsageError
from chaosagent.extras import missing_extra
from chaosagent.importable import execute_module, import_module, program_in

MESSAGE_MAX = 500


def load_object(reference: str, *, where: str = "", folder: Path | None = None) -> object:
    """Return what `module:attribute` or `file.py:attribute` names, whatever it is.

    Args:
        reference: What is named.
        where: What messages call the place of the reference.
        folder: Where a relative file is looked for; the working directory by default.

    Raises:
        UsageError: The module or the file does not exist.
        UnknownNameError: It has no such attribute; the nearest is offered.
        MissingExtraError: The module or file imports a package that an extra brings, and it is not installed.
        TargetError: The module or file fails on import.
    """
    place, _, attribute = reference.rpartition(":")
    prefix = f"{where}: " if where else ""
    if not place:
        raise UsageError(f"{prefix}{reference!r} names no code. Write module:attribute or file.py:attribute.")
    module = module_of(place, folder, where)
    if not hasattr(module, attribute):
        raise UnknownNameError(f"attribute of {place}", attribute, vars(module), where)
    found: object = getattr(module, attribute)
    return found


def module_of(place: str, folder: Path | None, where: str) -> ModuleType:
    """Return the module of a dotted name or of a file `agent.py`; arguments and errors as for `load_object`."""
    return _from_file(place, folder, where) if place.endswith(".py") else _from_module(place, where)


def _from_module(name: str, where: str) -> ModuleType:
    prefix = f"{where}: " if where else ""
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{prefix}{name!r} is no name of a module. Write module:agent, or agent.py:agent for a file.")
    try:
        return import_module(name)
    except ChaosAgentError:
        raise
    except ModuleNotFoundError as error:
        _refuse_missing_extra(error, f"{prefix}module {name!r}")
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise TargetError(f"{prefix}module {name!r} fails on import: {_told(error)}") from error
        raise UsageError(
            f"{prefix}module {name!r} cannot be imported: {error}. Install it, or name a file: agent.py:agent."
        ) from error
    except (Exception, SystemExit) as error:  # plug-in loading is a seam: whatever a module raises is its own fault
        raise TargetError(f"{prefix}module {name!r} fails on import: {_told(error)}") from error


def _told(error: BaseException) -> str:
    text = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{text}"[:MESSAGE_MAX]


def _refuse_missing_extra(error: ModuleNotFoundError, needed_by: str) -> None:
    missing = missing_extra(error, needed_by)
    if missing is not None:
        raise missing from error


def _from_file(place: str, folder: Path | None, where: str) -> ModuleType:
    prefix = f"{where}: " if where else ""
    path = (Path.cwd() if folder is None else folder) / place
    if not path.is_file():
        beside = sorted(one.name for one in path.parent.glob("*.py"))
        nearest = difflib.get_close_matches(path.name, beside, n=1)
        meant = f"Did you mean {nearest[0]!r}? " if nearest else ""
        raise UsageError(f"{prefix}there is no file {path}. {meant}A relative name is looked for in {path.parent}.")
    path = path.resolve()
    program = program_in(path)
    if program is not None:
        return program
    name = f"chaosagent_file_{hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{prefix}{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        execute_module(spec, module)
    except ModuleNotFoundError as error:
        del sys.modules[name]
        _refuse_missing_extra(error, f"{prefix}{path}")
        raise TargetError(f"{prefix}{path} fails on import: {_told(error)}") from error
    except UsageError as error:
        del sys.modules[name]
        raise UsageError(f"{prefix}{path}: {error}") from error
    except (Exception, SystemExit) as error:  # plug-in loading is a seam: whatever a file raises is its own fault
        del sys.modules[name]
        raise TargetError(f"{prefix}{path} fails on import: {_told(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module
