# `make demo` and `make test` set everything up on a bare clone; what is there already is left alone.
PYTHON ?= python3
BIN := .venv/bin
SOAK_KILLS ?= 30

.PHONY: demo test soak results lint types docs wheel test-wheel benchmarks clean

demo: .venv/installed
	$(BIN)/casper demo

test: .venv/installed
	$(BIN)/pytest -q -n 2 --dist worksteal

# Half an hour of runs of every method that are killed again and again, also while they write; directories with links and
# pipes; outputs in other encodings; wrong values in checkpoints. `make soak SOAK_KILLS=2` is short.
soak: .venv/installed
	SOAK_KILLS=$(SOAK_KILLS) $(BIN)/pytest -q -n 2 -m soak -rP

# The published tables, from the runs in results/runs; which command makes the runs is in results/README.md.
results: .venv/installed
	for name in cil ablation open_choices domain domain_search domain_choices cssl; do \
		$(BIN)/casper report results/runs --sweep results/$$name.yaml --out results/$$name.md || exit 1; \
	done
	for name in knn sigma scr; do \
		$(BIN)/casper report results/latent/runs --sweep results/latent/$$name.yaml --out results/latent/$$name.md || exit 1; \
	done

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy

# Into dist/. Built with the installed setuptools: no download.
wheel: .venv/installed
	rm -rf build dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# The wheel in a fresh environment with all its dependencies, as a user installs it; needs minutes and the package index.
test-wheel: wheel
	rm -rf build/test-wheel
	$(PYTHON) -m venv build/test-wheel
	build/test-wheel/bin/pip install --quiet --constraint constraints.txt torch==2.13.0
	build/test-wheel/bin/pip install --quiet --constraint constraints.txt dist/*.whl
	$(PYTHON) .ci/check_wheel.py --python build/test-wheel/bin/python
	build/test-wheel/bin/casper demo --seeds 1 --out build/test-wheel/demo
	rm -rf build/test-wheel

# The documentation site, into docs/_build/html; a warning is an error.
docs: .venv/docs-installed
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

benchmarks: .venv/installed
	$(BIN)/python benchmarks/spectral_gap.py
	$(BIN)/python benchmarks/buffer.py
	$(BIN)/python benchmarks/full_graph.py
	$(BIN)/python benchmarks/latent_graph.py
	$(BIN)/python benchmarks/input_pipeline.py
	$(BIN)/python benchmarks/precision.py
	$(BIN)/python benchmarks/method_steps.py
	$(BIN)/python benchmarks/checkpoint.py
	$(BIN)/python benchmarks/trunk.py

clean:
	rm -rf docs/_build docs/api/generated .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The exact torch first: asked for by a range, an installer may fetch another build of several gigabytes.
.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

.venv/docs-installed: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@
