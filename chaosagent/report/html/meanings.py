"""What the words of the page mean, said where they stand: contracts, and how much is proved."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.contracts.catalogue import entries
from chaosagent.replays.record import ReplayRecord

PROOFS = {
    "certified": "nothing cheaper in the declared space breaks this contract",
    "minimal": "no fault can be left out or weakened; something else may be cheaper",
    "none": "found, and neither reduced nor proved to be a cheapest one",
    "not final": "the study has not ended",
    "cheapest with these answers": "nothing cheaper breaks it with the answers that this study stored; others may come",
}


def contract_meaning(record: ReplayRecord) -> str:
    """Return what the broken contract of a record forbids, in a line; empty for one that is no built-in template."""
    named = {spec for spec in record.contract_specs if isinstance(spec, str)}
    named |= {str(spec.get("contract")) for spec in record.contract_specs if isinstance(spec, Mapping)}
    template = entries().get(record.contract) if record.contract in named else None
    summary = getattr(template, "summary", "")
    return summary.replace("nominal run", "run without faults")


def proof_meaning(proof: str) -> str:
    """Return what the words for a proof mean; empty where they say it themselves."""
    bound = proof.removeprefix("nothing below ")
    if bound != proof:
        return f"proved up to {bound}; between that and the cost here something cheaper may exist"
    return PROOFS.get(proof, "")
