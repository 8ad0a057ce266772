"""How much is proved of a counterexample, in a few words for tables."""

from __future__ import annotations

import math
import re

from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Span, good, notice
from chaosagent.report.proofs.chance import MAY_BE_CHANCE, bound_below
from chaosagent.study.certificate import Certificate
from chaosagent.study.counterexample import Counterexample

ALL_CHEAPER = "all cheaper ones found"
ALL_CHEAPER_CONFIRMED = "all cheaper confirmed ones found"
_KNOWN = re.compile(r"all \w+ counterexamples (?:of cost up to|cheaper than) (\S+) are known")
_CLEAN = re.compile(r"\b(\d+) clean runs? with other answers")


def proof_of(found: Counterexample, *, several: bool) -> Span:
    """Return how much is proved of a counterexample.

    Args:
        found: The counterexample.
        several: The study wants several counterexamples of each search.
    """
    certificate = found.certificate
    if not several and found.confirmation is not None and not found.confirmation.confirmed:
        return notice(MAY_BE_CHANCE)
    if not several and certificate.by_real_time:
        return notice("by real time")
    if certificate.certified:
        return notice(bound_below(certificate)) if certificate.frozen else good("certified")
    if several and certificate.is_repeated and certificate.level != "C0" and certificate.known_below >= found.cost:
        return notice(ALL_CHEAPER_CONFIRMED) if certificate.frozen else good(ALL_CHEAPER)
    if not several and has_lower_bound(certificate):
        return _bound(certificate.lower_bound, frozen=certificate.frozen)
    return notice("minimal" if found.minimal else "none")


def proof_of_record(record: ReplayRecord, *, several: bool) -> Span:
    """Return the same of a stored counterexample, as far as its record holds it.

    Args:
        record: Of the counterexample.
        several: The study wants several counterexamples of each search.
    """
    proof = record.proof
    if not several and record.confirmation is not None and not record.confirmation.confirmed:
        return notice(MAY_BE_CHANCE)
    if not several and record.has_no_trace:
        return notice("by real time")
    if proof.certified:
        return notice(_cheapest(proof.text)) if record.stochastic else good("certified")
    known = _KNOWN.search(proof.text)
    if several and known is not None and float(known[1]) >= float(f"{record.cost:g}"):
        return notice(ALL_CHEAPER_CONFIRMED) if record.stochastic else good(ALL_CHEAPER)
    if not several and re.match(r"(C\d|S): ", proof.text) and 0 < proof.lower_bound < math.inf:
        return _bound(proof.lower_bound, frozen=record.stochastic)
    return notice("minimal" if len(proof.necessity) == len(record.schedule) else "none")


def has_lower_bound(certificate: Certificate) -> bool:
    """Whether it is proved that nothing below some cost breaks the contract."""
    return certificate.is_repeated and 0 < certificate.lower_bound < math.inf


def _bound(lower_bound: float, *, frozen: bool) -> Span:
    return notice(f"{'none confirmed' if frozen else 'nothing'} below {lower_bound:g}")


def _cheapest(text: str) -> str:
    runs = _CLEAN.search(text)
    if runs is None:
        return "cheapest with these answers"
    return f"cheapest in {runs[1]} clean run{'' if runs[1] == '1' else 's'}"
