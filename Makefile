# Needs Python 3.11 or newer and make; everything else goes into .venv. `make help` lists what there is.
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

# Which Python builds .venv: `make test PYTHON=python3.13`. By default the first of these that is new enough.
PYTHON ?=
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)

# Optional packages that `make test-slow` adds for the tests that need them: `make test-slow SLOW_EXTRAS=dojo,ray`.
SLOW_EXTRAS ?= autogen,dojo,langgraph,llama-index,mcp,network,openai-agents,proxy,pydantic-ai,ray,smolagents
comma := ,

BIN := .venv/bin
INSTALLED_DEMO := .venv/installed-demo
INSTALLED_TEST := .venv/installed-test
INSTALLED_SLOW := .venv/installed-slow-$(subst $(comma),-,$(SLOW_EXTRAS))
INSTALLED_CREWAI := .venv-crewai/installed-slow

.PHONY: help demo test test-slow test-thorough test-crewai check format table clean

help:  ## say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(INSTALLED_DEMO)  ## find, shrink and replay a counterexample in the built-in target; writes demo-out/
	$(BIN)/chaosagent demo --out demo-out

test: check  ## checks and all tests but the slow ones
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-slow: $(INSTALLED_SLOW)  ## only the slow tests
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow

test-thorough: $(INSTALLED_SLOW)  ## the slow tests with all their cases: for a night
	CHAOSAGENT_THOROUGH=1 $(BIN)/python -m pytest -n auto --dist worksteal -m slow

test-crewai: $(INSTALLED_CREWAI)  ## only the slow tests of CrewAI, which needs other versions than the rest: in .venv-crewai
	.venv-crewai/bin/python -m pytest -n auto --dist worksteal -m crewai

check: $(INSTALLED_TEST)  ## lint, formatting, types, and who may import whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED_TEST)  ## put the code into its format and repair what can be repaired safely
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

table: $(INSTALLED_TEST)  ## write the table of operators in operators/README.md
	$(BIN)/python -m tests.operators.table

clean:  ## remove what the other targets made, but .venv and .venv-crewai
	rm -rf build dist demo-out htmlcov .coverage .coverage.* *.egg-info
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv*' -type d -prune -exec rm -rf {} +

# The stamps make a second run start at once; a change of pyproject.toml installs again. uv takes a tenth of pip's time,
# and where it cannot be had, pip is there.
$(INSTALLED_DEMO): EXTRAS = report
$(INSTALLED_TEST): EXTRAS = report,search,statistics,testing,deterministic,dev
$(INSTALLED_SLOW): EXTRAS = report,search,statistics,testing,deterministic,dev$(addprefix $(comma),$(SLOW_EXTRAS))
$(INSTALLED_CREWAI): EXTRAS = report,search,statistics,testing,deterministic,dev,crewai
$(INSTALLED_DEMO) $(INSTALLED_TEST) $(INSTALLED_SLOW): pyproject.toml | $(BIN)/python
$(INSTALLED_CREWAI): pyproject.toml | .venv-crewai/bin/python
$(INSTALLED_DEMO) $(INSTALLED_TEST) $(INSTALLED_SLOW) $(INSTALLED_CREWAI):
	@echo "installing chaosagent[$(EXTRAS)] into $(@D)"
	@pip="$(@D)/bin/python -m pip install --quiet --disable-pip-version-check"; \
	uv=$$(command -v uv || echo $(@D)/bin/uv); [ -x "$$uv" ] || $$pip uv || true; \
	{ [ -x "$$uv" ] && "$$uv" pip install --quiet --python $(@D)/bin/python -e ".[$(EXTRAS)]"; } || \
	  $$pip -e ".[$(EXTRAS)]"
	@touch $@

.venv/bin/python .venv-crewai/bin/python:
	@venv=$(@:/bin/python=); for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making $$venv with $$python"; rm -rf "$$venv"; \
	    if command -v uv >/dev/null; then exec uv venv --quiet --python "$$(command -v "$$python")" "$$venv"; fi; \
	    "$$python" -m venv "$$venv" || { rm -rf "$$venv"; \
	      echo "$$python has no working venv module; on Debian and Ubuntu install python3-venv." >&2; exit 1; }; \
	    exit 0; \
	  fi; \
	done; \
	echo "No Python 3.11 or newer among: $(PYTHONS). Install one, or name it: make PYTHON=/path/to/python3." >&2; exit 1
