# Every target sets up what it needs: only python3 is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

.PHONY: install test lint types test-slow test-oldest docs docs-quick demo bench clean

install: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	$(BIN)/stakes compile
	touch $(STAMP)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

# One thread for each test process: two that both spin on every core wait for each other.
test: lint types
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS) --durations 15

# Long tests one at a time to each process, and their figures into build/slow.
test-slow: install
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slow -n $(JOBS) --maxschedchunk 1 --durations 40

# The lowest versions that pyproject.toml allows, in an environment of their own.
OLDEST := .venv-oldest

$(OLDEST)/.installed: pyproject.toml tools/oldest.py
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tools/oldest.py > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

test-oldest: $(OLDEST)/.installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -q -n $(JOBS) --durations 15

# The site, into build/docs; docs-quick leaves out the figures of the gallery.
SPHINX := $(BIN)/python -m sphinx -b html --fail-on-warning --keep-going -d build/doctrees

docs: install
	rm -rf docs/api docs/generated
	OMP_NUM_THREADS=1 $(SPHINX) --quiet docs build/docs
	$(BIN)/python tools/check_links.py build/docs

docs-quick: install
	rm -rf docs/api docs/generated
	$(SPHINX) --quiet -D plot_gallery=0 docs build/docs
	$(BIN)/python tools/check_links.py build/docs

demo: install
	$(BIN)/stakes compare cheques --methods mec,calibrated,partition,forest,combo,stakes --folds 2 --currency € --out build/demo/report.html
	@echo "Open $(CURDIR)/build/demo/report.html in a browser."

bench: install
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(OLDEST) .mypy_cache .ruff_cache .pytest_cache
