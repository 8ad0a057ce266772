"""Built-in operators, one per file, one package per boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaosagent.faults.operator import Operator

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.operators":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.operators`. "
        "The folder operators/ just keeps its files. Write `import chaosagent.operators`, "
        "after `pip install -e .` in the checkout."
    )


def entries() -> dict[str, type[Operator]]:
    """Return every built-in operator by its registry name; the files are imported on the first call."""
    from chaosagent.operators.memory.lost_update import LostUpdate
    from chaosagent.operators.memory.stale_read import StaleRead
    from chaosagent.operators.message.drop import Drop
    from chaosagent.operators.message.duplicate import Duplicate
    from chaosagent.operators.message.reorder import Reorder
    from chaosagent.operators.model.malformed_tool_call import MalformedToolCall
    from chaosagent.operators.model.refusal import Refusal
    from chaosagent.operators.prompt.distractor import Distractor as PromptDistractor
    from chaosagent.operators.prompt.splice import Splice
    from chaosagent.operators.retrieval.distractor import Distractor as RetrievalDistractor
    from chaosagent.operators.retrieval.drop_top import DropTop
    from chaosagent.operators.retrieval.empty import Empty
    from chaosagent.operators.retrieval.perturb_ranking import PerturbRanking
    from chaosagent.operators.retrieval.poisoned_passage import PoisonedPassage
    from chaosagent.operators.retrieval.stale_index import StaleIndex
    from chaosagent.operators.retrieval.truncate import Truncate
    from chaosagent.operators.service.delay import Delay
    from chaosagent.operators.service.dropped_response import DroppedResponse
    from chaosagent.operators.service.duplicate_delivery import DuplicateDelivery
    from chaosagent.operators.service.error_status import ErrorStatus
    from chaosagent.operators.service.false_success import FalseSuccess
    from chaosagent.operators.service.field_corruption import FieldCorruption
    from chaosagent.operators.service.late_duplicate import LateDuplicate
    from chaosagent.operators.service.lost_response import LostResponse
    from chaosagent.operators.service.metadata_change import MetadataChange
    from chaosagent.operators.service.partial_page import PartialPage
    from chaosagent.operators.service.partial_response import PartialResponse
    from chaosagent.operators.service.pending import Pending
    from chaosagent.operators.service.schema_mismatch import SchemaMismatch
    from chaosagent.operators.service.stale_response import StaleResponse
    from chaosagent.operators.service.timeout import Timeout
    from chaosagent.operators.service.wrong_unit import WrongUnit
    from chaosagent.operators.tools.missing import Missing

    kinds: list[type[Operator]] = [
        LostUpdate,
        StaleRead,
        Drop,
        Duplicate,
        Reorder,
        MalformedToolCall,
        Refusal,
        PromptDistractor,
        Splice,
        RetrievalDistractor,
        DropTop,
        Empty,
        PerturbRanking,
        PoisonedPassage,
        StaleIndex,
        Truncate,
        Delay,
        DroppedResponse,
        DuplicateDelivery,
        ErrorStatus,
        FalseSuccess,
        FieldCorruption,
        LateDuplicate,
        LostResponse,
        MetadataChange,
        PartialPage,
        PartialResponse,
        Pending,
        SchemaMismatch,
        StaleResponse,
        Timeout,
        WrongUnit,
        Missing,
    ]
    return {kind.name: kind for kind in kinds}
