# The whole project by name: each target sets up what it needs (Python 3.11 or newer, nothing else).
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# After an install, because pip shows nothing of a build that succeeds. -P: modules of this folder are no others'.
FORM    = $(BIN)/python -P -c 'from pyjs.native import COMPILED; COMPILED or print("pyjs: installed without its compiled part, and slower: \"$(BIN)/pip install -v .\" says why")'

# Versions of Spark that are tested beside the one of `make test`, those that Delta and Iceberg have releases for.
SPARKS ?= 4.1.4 4.2.0

.PHONY: demo video pipeline test sparks check bench sweeps soak trust docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      play the leaf-node documentation on two servers of your own"
	@echo "make video     play the video on persistence at the edge on nine servers of your own"
	@echo "make pipeline  play orders of two leafs that Spark counts (needs Java 17 or newer)"
	@echo "make test      set up and run every test"
	@echo "make sparks    run the tests on real Spark with older Sparks (2 x 450 MB; SPARKS=4.1.4 for one)"
	@echo "make check     format, lint and types, those of the tests too"
	@echo "make bench     compare with the reference server, and write benchmarks/results.md (25 minutes)"
	@echo "make sweeps    draw how the cost of a message grows, in docs/performance.md (7 minutes)"
	@echo "make soak      simulate many more replicated groups under faults, and try 40 times as many examples and seeds"
	@echo "make trust     play faults on whole clusters, and write docs/trust.md (25 minutes; ROUNDS=n for more)"
	@echo "make docs      write the pages of the API, from the docstrings, into build/docs"
	@echo "make clean     remove the environment and what was built"

demo: $(VENV)/.user
	@$(BIN)/pyjs demo leaf-nodes

video: $(VENV)/.user
	@$(BIN)/pyjs demo video

pipeline: $(VENV)/.spark
	@$(BIN)/pyjs demo pipeline

test: $(VENV)/.dev
	@# Compiled once here, in a fresh clone, and not by each of the four at the same time.
	@$(BIN)/python -m compileall -q -j 0 -x '/\.|/build/|/test_|/conftest' .
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist worksteal -q

# PySpark 4.1 leaves sockets of its own unclosed.
sparks: $(VENV)/.dev $(SPARKS:%=$(VENV)/spark-%)
	@for version in $(SPARKS); do echo "Spark $$version"; \
	  PYTHONPATH=$(VENV)/spark-$$version $(BIN)/python -m pytest -n 2 -q -W ignore::ResourceWarning \
	    -W ignore::pytest.PytestUnraisableExceptionWarning tests/pipeline tests/plugins/pipeline || exit 1; done

$(VENV)/spark-%: | $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $@.part pyspark==$*
	@mv $@.part $@

check: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@# By the package's own name: the folder may have one that is no name in Python. `lib` is what tests share.
	@mkdir -p $(VENV)/types && ln -sfn $(CURDIR) $(VENV)/types/pyjs
	@cd $(VENV)/types && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml -p pyjs -p lib

bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks

sweeps: $(VENV)/.dev
	@$(BIN)/python -m benchmarks --only sweeps

soak: $(VENV)/.dev
	@PYTHONPATH=tests $(BIN)/python -m lib.raft
	@$(BIN)/python -m pytest -n 4 -q --hypothesis-profile=soak --timeout=3600 -m "hypothesis or soak"

trust: $(VENV)/.dev
	@PYTHONPATH=tests $(BIN)/python -m lib.trust --write docs/trust.md $(if $(ROUNDS),--rounds $(ROUNDS))

docs: $(VENV)/.dev
	@$(BIN)/python docs/api.py build/docs

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "pyjs needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "could not make an environment; on Debian: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.user: $(VENV)/.python pyproject.toml setup.py native/_native.pyx native/_blocks.pyx
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(FORM)
	@touch $@

$(VENV)/.spark: $(VENV)/.python pyproject.toml setup.py native/_native.pyx native/_blocks.pyx
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]'
	@$(FORM)
	@touch $@ $(VENV)/.user

$(VENV)/.dev: $(VENV)/.python pyproject.toml setup.py native/_native.pyx native/_blocks.pyx
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(FORM)
	@touch $@ $(VENV)/.user $(VENV)/.spark

clean:
	@rm -rf $(VENV) build dist ./*.egg-info native/*.so
