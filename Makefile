# Everything runs in a virtual environment of its own; delete .venv to begin anew.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: help demo test lint bench bench-recall bench-latency bench-path bench-mcp bench-faults bench-guard bench-storm bench-hosts bench-install docs browser clean

help:
	@echo "make demo   make a knowledge base in ./demo-kb and run the main job on a session; DEMO=zh: in Chinese"
	@echo "make test   run the tests"
	@echo "make lint   ruff and mypy"
	@echo "make bench  measure; KB_BENCH_DATA names the folder with corpora"
	@echo "make bench-recall   how often search finds what was meant; needs KB_BENCH_DATA"
	@echo "make bench-latency  how long a search takes in 100,000 records; the first time half an hour"
	@echo "make bench-mcp   ask kb mcp with the TypeScript SDK; needs node and npm"
	@echo "make bench-faults   interrupt everything everywhere: an hour; FORM=--short: two minutes"
	@echo "make bench-guard   let commands of agents loose on records: stopped before, found after, or harmless"
	@echo "make bench-hosts    run the real agent programs with the hooks; needs npm and unshare; FORM=--keep keeps the runs"
	@echo "make bench-install  how large and how slow an installation is, for the core and each extra"
	@echo "make bench-storm    writers, kills and a person at git in clones of many shapes; SEEDS=1-20"
	@echo "make docs   write the generated parts of docs/ anew"

$(VENV)/.ready: pyproject.toml
	@echo "setting up $(VENV): about a minute, the first time"
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	$(RUN)/python -m compileall -q kb
	@touch $@

# An editable installation compiles the messages once; here they follow their source.
kb/locale/zh/LC_MESSAGES/kb.mo: kb/locale/zh/LC_MESSAGES/kb.po $(VENV)/.ready
	$(RUN)/python -m docs.messages --compile

demo: $(VENV)/.ready
	@$(RUN)/python -m bench.demo demo-kb $(DEMO)

# The wiki is tested in a browser that can show Chinese. BROWSER=skip goes without: those tests are then skipped.
# The plugin for opencode is tested with node.
browser:
ifneq ($(BROWSER),skip)
	@missing=""; \
	for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && break; done \
	  || missing=" chromium"; \
	fc-list :lang=zh 2>/dev/null | grep -q . || missing="$$missing fontconfig fonts-noto-cjk"; \
	command -v node >/dev/null || missing="$$missing nodejs"; \
	[ -z "$$missing" ] && exit 0; \
	if ! command -v apt-get >/dev/null; then \
	  echo "not found:$$missing; install it, or run: make test BROWSER=skip" >&2; exit 1; \
	fi; \
	sudo=""; [ "$$(id -u)" = 0 ] || sudo="sudo"; \
	echo "installing for the tests:$$missing"; \
	export DEBIAN_FRONTEND=noninteractive; \
	$$sudo apt-get update -qq && $$sudo apt-get install -qq -y --no-install-recommends $$missing >/dev/null \
	  || { echo "that failed; without a browser: make test BROWSER=skip" >&2; exit 1; }
endif

# What the processes of the tests load is compiled once. A file of tests stays in one process, and so do its fixtures.
test: $(VENV)/.ready kb/locale/zh/LC_MESSAGES/kb.mo browser
	$(RUN)/python -m compileall -q kb bench tests/support
	env -u PYTHONDONTWRITEBYTECODE $(RUN)/python -m pytest -q -n 3 --dist loadfile

lint: $(VENV)/.ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy --strict kb

bench: $(VENV)/.ready
	$(RUN)/python -m bench

bench-recall: $(VENV)/.ready
	$(RUN)/python -m bench.recall
	$(RUN)/python -m bench.recallfloor

bench-latency: $(VENV)/.ready
	$(RUN)/python -m bench.latency

bench-path: $(VENV)/.ready
	$(RUN)/python -m bench.path --list

bench-mcp: $(VENV)/.ready
	$(RUN)/python -m bench.mcpclient

bench-faults: $(VENV)/.ready
	$(RUN)/python -m bench.faults $(if $(FORM),$(FORM),--write-docs)

bench-guard: $(VENV)/.ready
	$(RUN)/python -m bench.guard

bench-hosts: $(VENV)/.ready
	$(RUN)/python -m bench.hosts $(FORM)

bench-install: $(VENV)/.ready
	$(RUN)/python -m bench.install

bench-storm: $(VENV)/.ready
	$(RUN)/python -m bench.storm --seeds $(or $(SEEDS),1)
	$(RUN)/python -m bench.team --seeds $(or $(SEEDS),1)

docs: $(VENV)/.ready
	$(RUN)/python -m docs.generate

clean:
	rm -rf $(VENV) demo-kb site
