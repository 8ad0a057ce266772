"""What `import chaosagent` offers, and what it costs."""

import subprocess
import sys

import pytest

import chaosagent


@pytest.mark.parametrize("name", chaosagent.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(chaosagent, name)

    assert getattr(found, "__name__", name) == name
    assert name in dir(chaosagent)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'chaosagent' has no attribute 'nothing'"):
        chaosagent.nothing  # noqa: B018  # the look-up is what is tested


def test_the_version_is_that_of_the_package() -> None:
    assert chaosagent.__version__[0].isdigit()


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import chaosagent; print(sorted(set(sys.modules) - before))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert "chaosagent" in done.stdout
    assert not any(heavy in done.stdout for heavy in ("numpy", "asyncio", "pydantic", "rich", "typer", "chaosagent."))
