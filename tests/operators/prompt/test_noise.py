"""What `prompt.noise` does to a crossing."""

from __future__ import annotations

import unicodedata

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.noise import Noise
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Noise, text: str) -> Plain:
    return play(operator, _answered(text)).value


TEXT = "Please refund order A-1006 to ann@example.org before the parcel arrives, never afterwards."


def _words(text: Plain) -> list[str]:
    assert isinstance(text, str)
    return text.split()


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_typos_exchange_letters_inside_a_share_of_the_words(share: float) -> None:
    words = _words(_text(Noise(kind="typos", share=share, tokens_max=500), TEXT))

    changed = [(one, other) for one, other in zip(TEXT.split(), words, strict=True) if one != other]
    assert len(changed) == max(1, round(share * 8))
    for one, other in changed:
        assert sorted(one) == sorted(other)
        assert (one[0], one[-1]) == (other[0], other[-1])


def test_whitespace_noise_changes_no_word() -> None:
    for share in (0.05, 1.0):
        text = _text(Noise(kind="whitespace", share=share, tokens_max=500), TEXT)

        assert text != TEXT
        assert [word.strip("\N{ZERO WIDTH SPACE}") for word in _words(text)] == TEXT.split()


def test_confusables_look_like_the_letters_that_they_replace() -> None:
    text = _text(Noise(kind="confusables", share=1.0, tokens_max=500), TEXT)

    assert isinstance(text, str)
    replaced = {(one, unicodedata.name(other)) for one, other in zip(TEXT, text, strict=True) if one != other}
    assert ("a", "CYRILLIC SMALL LETTER A") in replaced
    assert all(name.startswith("CYRILLIC SMALL LETTER") for _, name in replaced)


@pytest.mark.parametrize("kind", ["whitespace", "typos", "confusables"])
def test_noise_leaves_names_with_digits_and_addresses_alone(kind: str) -> None:
    everything = _text(Noise(kind=kind, share=1.0, tokens_max=500), TEXT)

    assert "A-1006" in _words(everything)
    assert any("ann@example.org" in word for word in _words(everything))


def test_another_place_has_other_mistakes() -> None:
    def at(seed: int) -> Plain:
        sample = Sample(Boundary.PROMPT, Request("read", {}), Response(TEXT))
        return play(Noise(share=0.3), FakeCrossing(sample, seed)).value

    assert at(1) == at(1)
    assert len({str(at(seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_noise_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Noise(), _answered(answer)) == Response(answer)
