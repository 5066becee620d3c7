# Everything a newcomer or the CI runs. Needs Rust (cargo), Python 3.10 or later and make; the rest goes into .venv and target.
#
# A stamp in .venv marks each finished step and is older than what it depends on when the step must run again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What the native module is built from.
SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates apps python/src python/Cargo.toml \
		\( -path crates/tidy -o -name tests -o -name benches \) -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)

export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench soak wheel clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.package ## build the optimized package into .venv
	@echo 'Evergraph is ready: $(BIN)/evergraph --help'

demo: setup ## set up, then show the main job in under a minute
	$(BIN)/evergraph demo

# Property tests draw the same cases each time here, so that what fails fails again; cargo test and make soak draw new ones.
test: export PROPTEST_RNG_SEED ?= 1
test: setup $(VENV)/.tools ## set up, then run all tests
	cargo test --locked
	$(BIN)/python -m pytest

lint: setup $(VENV)/.tools ## formatting, lints, documentation, style and types; warnings are errors
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --quiet
	cargo test --locked --quiet --package evergraph-tidy
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/stubtest evergraph._native --ignore-missing-stub

format: $(VENV)/.tools ## format all sources in place
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: setup ## measure Evergraph against the yardstick
	$(BIN)/evergraph bench

# The crates that have long tests; of the others nothing is compiled for them.
SOAKED = $(sort $(shell grep -rl 'fn soak_' --include='*.rs' crates apps | sed -E 's,^[a-z]+/([a-z]+)/.*,--package=evergraph-\1,'))

soak: ## the long tests: kills, crashes and damage by the hundred thousand, summed up at the end
	@mkdir -p target && rm -f target/tally
	EVERGRAPH_TALLY=$(CURDIR)/target/tally cargo test --locked --release $(SOAKED) -- --ignored soak
	@awk -F '\t' '{ sum[$$2] += $$1 } END { for (what in sum) printf "%12d %s\n", sum[what], what }' target/tally | sort -k 2

wheel: $(VENV)/.created ## build the wheel into dist
	$(BIN)/maturin build --release --out dist

clean: ## remove everything that was built
	rm -rf $(VENV) dist target
	find python -name '*.so' -delete

$(VENV)/.created: python/requirements-build.txt python/requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r python/requirements-build.txt
	touch $@

$(VENV)/.package: $(VENV)/.created $(SOURCES)
	$(BIN)/maturin develop --release
	touch $@

$(VENV)/.tools: $(VENV)/.created python/requirements-dev.txt
	$(PIP) -r python/requirements-dev.txt
	touch $@
