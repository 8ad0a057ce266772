"""The names of the GenAI semantic conventions, in one version, and what others call the same things.

Written are the names of `SCHEMA_URL`, which OpenTelemetry still calls experimental. Read are those, the older ones,
and those of OpenInference, OpenLLMetry, pydantic-ai and the Vercel AI SDK where they mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping

SEMANTIC_CONVENTIONS = "1.44.0"
"""The version whose names are written."""
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMANTIC_CONVENTIONS}"

OPERATION = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
REQUEST_MODEL = "gen_ai.request.model"
PROVIDER = "gen_ai.provider.name"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
TOOL_CALL_ID = "gen_ai.tool.call.id"
DATA_SOURCE = "gen_ai.data_source.id"
QUERY = "gen_ai.retrieval.query.text"
DOCUMENTS = "gen_ai.retrieval.documents"
ERROR_TYPE = "error.type"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_EVENT = "exception"

CHAT, EXECUTE_TOOL, RETRIEVAL = "chat", "execute_tool", "retrieval"
INVOKE_AGENT, INVOKE_WORKFLOW, EMBEDDINGS = "invoke_agent", "invoke_workflow", "embeddings"
MODEL_OPERATIONS = frozenset({CHAT, "generate_content", "text_completion", EMBEDDINGS})
SCOPES = frozenset({INVOKE_AGENT, INVOKE_WORKFLOW})
MEMORY_OPERATIONS = frozenset({"search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"})

INPUT, OUTPUT, ENTITY, KIND = "input", "output", "entity", "kind"
"""What others say of any span, whatever it is: what went in, what came out, its name, and its kind."""

ALIASES: Mapping[str, str] = {
    "gen_ai.system": PROVIDER,
    "gen_ai.prompt": INPUT_MESSAGES,
    "gen_ai.completion": OUTPUT_MESSAGES,
    # OpenInference
    "openinference.span.kind": KIND,
    "agent.name": AGENT_NAME,
    "tool.name": TOOL_NAME,
    "llm.model_name": REQUEST_MODEL,
    "llm.provider": PROVIDER,
    "input.value": INPUT,
    "output.value": OUTPUT,
    # OpenLLMetry
    "traceloop.span.kind": KIND,
    "traceloop.entity.name": ENTITY,
    "traceloop.entity.input": INPUT,
    "traceloop.entity.output": OUTPUT,
    "llm.request.type": KIND,
    # pydantic-ai, before it followed the conventions
    "agent_name": AGENT_NAME,
    "tool_arguments": TOOL_ARGUMENTS,
    "tool_response": TOOL_RESULT,
    "final_result": OUTPUT,
    # Vercel AI SDK
    "ai.toolCall.name": TOOL_NAME,
    "ai.toolCall.args": TOOL_ARGUMENTS,
    "ai.toolCall.result": TOOL_RESULT,
}
"""Another name of an attribute, and the one that it stands for here; a right name beside it is preferred."""

KINDS: Mapping[str, str] = {
    "llm": CHAT,
    "chat": CHAT,
    "completion": CHAT,
    "embedding": EMBEDDINGS,
    "tool": EXECUTE_TOOL,
    "retriever": RETRIEVAL,
    "agent": INVOKE_AGENT,
    "workflow": INVOKE_WORKFLOW,
}
"""The operation that a span kind of OpenInference or OpenLLMetry, in lower case, stands for."""

OWN = "chaosagent."
KEPT = (OWN, "gen_ai.", "llm.input_messages.", "llm.output_messages.")
KEPT_WHOLE = frozenset({ERROR_TYPE, EXCEPTION_TYPE, EXCEPTION_MESSAGE, "http.response.status_code"})
"""The attributes that are read, by how they begin and whole; all others are passed over."""


def is_kept(key: str) -> bool:
    """Whether an attribute of that name is read."""
    return key in KEPT_WHOLE or key.startswith(KEPT)
