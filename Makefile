# `make demo` and `make test` do all the set-up. They need Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE # without bytecode every process of the tests compiles the package anew
.PHONY: demo test test-slow test-world lint docs bench bench-smoke clean

$(VENV)/.installed $(VENV)/.installed-test $(VENV)/.installed-docs: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.$(EXTRA)'
	touch $@
$(VENV)/.installed-test: EXTRA := [test]
$(VENV)/.installed-docs: EXTRA := [docs]

demo: $(VENV)/.installed
	$(BIN)/agent-vendor-verifier demo

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry vendor_verifier vendors

test: lint
	$(BIN)/pytest -n 3 -m 'not slow and not world'

test-slow: $(VENV)/.installed-test
	$(BIN)/pytest -n 3 -m 'slow and not world'
test-world: $(VENV)/.installed-test
	$(BIN)/python tests/world/install.py
	WORLD=1 $(BIN)/pytest -m world tests/world $(TESTS)

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What a request costs and whether the clock is right. Needs a C compiler.
bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/bench.py --write
bench-smoke: $(VENV)/.installed-test
	$(BIN)/python benchmarks/bench.py cost --requests 10000 --rounds 2 --at-most $(or $(AT_MOST),2.5)

clean:
	rm -rf $(VENV) .bench .world build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
