# Two commands do all the set-up: `make demo` and `make test`. Both need Python >= 3.11 and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow test-world lint docs clean bench bench-smoke fuzz soak

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/agent-vendor-verifier demo

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry vendor_verifier vendors

# The site of docs/ in build/site. A warning, such as a link that leads nowhere, is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Three at a time on two cores: many tests wait for a server more than they reckon.
test: lint
	$(BIN)/pytest -n 3 -m 'not slow and not world'

# Simulations of error rates, clusters of real processes, and what else takes its time.
test-slow: $(VENV)/.installed-test
	$(BIN)/pytest -n 2 -m 'slow and not world'

# Servers that nobody here wrote (nginx, haproxy, tinyproxy, llama.cpp, LiteLLM), as far as they can be installed.
# `make test-world TESTS='-k llama'` runs some.
TESTS ?=
test-world: $(VENV)/.installed-test
	$(BIN)/python tests/world/install.py
	WORLD=1 $(BIN)/pytest -m world tests/world $(TESTS)

# What a request costs, whether the clock tells the truth, and what peers cost (each in an environment of its own under
# .bench, some GB, made once). Needs a C compiler and says so when there is none.
BENCH ?= --write
bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/bench.py $(BENCH)

# The most that a request may cost, in raw limits.
AT_MOST ?= 2.5
bench-smoke: $(VENV)/.installed-test
	$(BIN)/python benchmarks/bench.py cost --requests 20000 --rounds 2 --at-most $(AT_MOST)

# Everything that reads what others wrote, by coverage, for a stated time. Skipped with a message where atheris has no wheel.
FUZZ_SECONDS ?= 300
fuzz: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet atheris || true
	$(BIN)/python tests/support/fuzz_readers.py $(FUZZ_SECONDS)

# 100,000 requests to simulated vendors, 200 interruptions, and a kill at every step in each of three ways.
SOAK_REQUESTS ?= 100000
soak: $(VENV)/.installed-test
	$(BIN)/python tests/faults/soak.py $(SOAK_REQUESTS)
	SOAK=1 $(BIN)/pytest tests/faults/test_interrupted.py

clean:
	rm -rf $(VENV) .bench .world build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
