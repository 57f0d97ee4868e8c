# Everything a clone needs: `make demo` runs the main job, `make test` the whole suite.
# Each makes its own virtual environment and names what the machine lacks.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := build/wheels
MACHINE = $(shell uname -m)
GLIBC := manylinux_2_17
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := .tools/bin/cargo-deny
CARGO_MUTANTS_VERSION := 27.1.0
CARGO_MUTANTS := .tools/bin/cargo-mutants
SOURCES := $(wildcard Cargo.toml Cargo.lock pyproject.toml README.md LICENSE) \
	$(shell find rust python -type f ! -name '*.pyc' ! -name '*.so' 2>/dev/null)
# A test that takes ten minutes hangs: the run ends there, and shows where each thread waits.
ENDED_IF_HUNG := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
# One interpreter for pyo3's build script, so that cargo and maturin agree.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test rust-tests test-engines test-long planted fuzz faults mutants wheel lint format bench bench-quick bench-instructions experiments \
	docs lock clean check-demo-tools check-test-tools

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

demo: check-demo-tools $(VENV)/installed  ## build, install and run the main job on a generated stream
	$(BIN)/lazysketch demo

# What compiles does so side by side: the last crate of the wheel takes minutes on one core.
test: check-test-tools $(VENV)/develop  ## the whole suite: lint, Rust tests, stub check, Python tests (some cases of the slow ones)
	$(MAKE) --no-print-directory --jobs=2 $(WHEELS)/built lint rust-tests
	$(MAKE) --no-print-directory $(VENV)/installed
	cargo test --locked
	$(BIN)/python -m mypy.stubtest lazysketch._native
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m 'not long' --sample --ignore tests/engines \
		$(ENDED_IF_HUNG) --max-worker-restart 0 --durations 10
	@echo 'test: skipped tests/engines (Spark, Kafka, Dask), which make test-engines runs'

rust-tests: check-test-tools $(VENV)/develop
	cargo test --locked --no-run

test-engines: check-test-tools $(VENV)/installed $(VENV)/engines $(if $(shell command -v mvn),build/kafka/installed)  ## what runs in engines: Spark (needs Java 17 or newer), Kafka, Dask
	@command -v java >/dev/null 2>&1 || { echo 'missing: java >= 17 (Debian: the package openjdk-17-jre-headless)' >&2; exit 1; }
	$(BIN)/python -m pytest tests/engines $(ENDED_IF_HUNG) --durations 5

test-long: check-test-tools $(VENV)/installed $(VENV)/develop  ## all Python tests, with the campaigns and eight times the random cases (an hour)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --hypothesis-profile long --ignore tests/engines

planted: check-test-tools $(VENV)/installed $(VENV)/engines $(if $(shell command -v mvn),build/kafka/installed)  ## plant every known bug, one at a time: a test must fail for each (half an hour)
	$(BIN)/python -m tests.planted

# MINUTES=N: for N minutes.
fuzz: check-test-tools $(VENV)/installed $(VENV)/develop  ## hostile values, inputs and releases for ten minutes; goes on with the next seeds
	$(BIN)/python -m tests.fuzzing $(if $(MINUTES),--minutes $(MINUTES))

faults: check-test-tools $(VENV)/installed $(VENV)/develop  ## raise an error at every point of every operation, and count what breaks (two hours); goes on where it stopped
	$(BIN)/python -m pytest --numprocesses auto --going-on tests/faults

lint: check-test-tools $(VENV)/develop $(CARGO_DENY)-$(CARGO_DENY_VERSION)  ## format, lint, types, import direction, licences
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python tools/module_graph.py
	cargo fmt --all --check
	cargo clippy --locked --all-targets -- -D warnings
	$(CARGO_DENY) --locked check bans licenses sources

format: check-test-tools $(VENV)/develop  ## rewrite Python and Rust in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --all

bench: check-demo-tools $(VENV)/installed $(VENV)/bench  ## speed beside what others use (10 minutes), into benches/record/
	cargo build --release --locked --quiet --package lazysketch-benches
	$(BIN)/python -m benches.python run

bench-quick: check-demo-tools $(VENV)/installed $(VENV)/bench  ## the same in a minute, once built; records nothing
	cargo build --release --locked --quiet --package lazysketch-benches
	$(BIN)/python -m benches.python run --quick

bench-instructions: check-demo-tools $(VENV)/installed  ## instructions of the kernels against the record (needs valgrind)
	cargo build --release --locked --quiet --package lazysketch-benches
	$(BIN)/python -m benches.python instructions

experiments: check-demo-tools $(VENV)/installed $(VENV)/plots  ## the paper's evaluation and ours (half an hour); goes on where it stopped
	status=0; $(BIN)/python -m experiments run all || status=$$?; \
		$(BIN)/python -m experiments report && exit $$status

# CHANGED=1: the lines of the current change. MINUTES=N: stop after N minutes.
mutants: check-test-tools $(VENV)/installed $(VENV)/mutants $(CARGO_MUTANTS)-$(CARGO_MUTANTS_VERSION)  ## does a test fail for every small change of the privacy code? (hours); goes on where it stopped
	$(BIN)/python -m tools.mutants $(if $(CHANGED),--changed) $(if $(MINUTES),--minutes $(MINUTES))

# Linked by zig against an old glibc; then what an index gives its users, in an environment of its own.
wheel: check-demo-tools $(VENV)/wheel  ## a wheel for Linux with glibc 2.17 or newer, checked, installed and run (needs the network)
	rm -rf build/dist build/fresh
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --quiet --zig --out build/dist \
		--target $(MACHINE)-unknown-linux-gnu --compatibility $(GLIBC)
	$(BIN)/python -m tools.wheel_check --platform $(GLIBC)_$(MACHINE) build/dist/*.whl
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet "$$(echo build/dist/*.whl)[cli]"
	build/fresh/bin/lazysketch demo

docs: $(VENV)/installed $(VENV)/docs  ## the site, in build/site: the pages of docs/ and a reference from the docstrings; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lock: check-demo-tools $(VENV)/develop  ## newest allowed versions into every lock file
	cd requirements && for set in demo develop docs engines tools bench mutants wheel; do \
		../$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --upgrade \
			--generate-hashes --no-emit-index-url --no-annotate \
			--custom-compile-command "make lock" $$set.in --output-file $$set.txt || exit 1; done
	cargo update

clean:  ## remove everything that the other targets made
	rm -rf $(VENV) .tools build target .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +

check-demo-tools:
	@.ci/check-tools $(PYTHON)

check-test-tools:
	@.ci/check-tools $(PYTHON) fmt clippy

# The virtual environment, then the locked packages of each target.
$(VENV)/created: | check-demo-tools
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/demo: requirements/demo.txt $(VENV)/created
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/develop: requirements/develop.txt $(VENV)/demo
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/engines: requirements/engines.txt $(VENV)/develop
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

# A broker of Kafka and what it needs, as Maven resolves it; each file is checked against its digest.
# Without Maven (Debian: the package maven) the tests that need a real broker are skipped.
build/kafka/installed: tests/engines/kafka/pom.xml tests/engines/kafka/jars.sha256
	rm -rf build/kafka
	mvn --batch-mode --quiet --file $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/build/kafka
	cd build/kafka && sha256sum --quiet --strict --check ../../tests/engines/kafka/jars.sha256
	@touch $@

$(VENV)/docs: requirements/docs.txt $(VENV)/demo
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/plots: requirements/tools.txt $(VENV)/demo
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/bench: requirements/bench.txt $(VENV)/demo
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/mutants: requirements/mutants.txt $(VENV)/develop
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(VENV)/wheel: requirements/wheel.txt $(VENV)/demo
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@touch $@

# The built wheel, never the source tree, is what the demo runs and the tests import.
# Installed without an index: the lock must already hold all that [cli] asks for.
$(WHEELS)/built: $(SOURCES) $(VENV)/demo
	rm -rf $(WHEELS)
	$(BIN)/maturin build --release --quiet --out $(WHEELS)
	@touch $@

$(VENV)/installed: $(WHEELS)/built
	$(BIN)/python -m pip uninstall -qq --yes lazysketch
	$(BIN)/python -m pip install --quiet --no-index "$$(echo $(WHEELS)/*.whl)[cli]"
	@touch $@

# Compiled from their crates, unoptimised (a minute each): no package ships a current binary.
$(CARGO_DENY)-$(CARGO_DENY_VERSION): | check-demo-tools
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=0 \
		cargo install --quiet --locked --root .tools --version $(CARGO_DENY_VERSION) --force cargo-deny
	@touch $@

$(CARGO_MUTANTS)-$(CARGO_MUTANTS_VERSION): | check-demo-tools
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=0 \
		cargo install --quiet --locked --root .tools --version $(CARGO_MUTANTS_VERSION) --force cargo-mutants
	@touch $@
