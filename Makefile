# Everything runs in a virtual environment of its own; delete .venv to begin anew.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: help demo test lint bench docs browser clean

help:
	@echo "make demo   make a knowledge base in ./demo-kb and run the main job on a real transcript"
	@echo "make test   run the tests"
	@echo "make lint   ruff and mypy"
	@echo "make bench  measure; KB_BENCH_DATA names the folder with corpora"
	@echo "make docs   write the generated parts of docs/ anew"

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(VENV)/.ready
	$(RUN)/python -m bench.demo demo-kb

browser:
	@if [ -z "$(CHROMIUM)" ]; then \
	  echo "installing chromium for the wiki's tests"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -qq -y chromium >/dev/null; \
	  else sudo apt-get update -qq && sudo apt-get install -qq -y chromium >/dev/null; fi; \
	fi

test: $(VENV)/.ready browser
	$(RUN)/python -m pytest -q -n 2

lint: $(VENV)/.ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy --strict kb

bench: $(VENV)/.ready
	$(RUN)/python -m bench

docs: $(VENV)/.ready
	$(RUN)/python -m docs.generate

clean:
	rm -rf $(VENV) demo-kb site
