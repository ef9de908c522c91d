# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# The commands of this repository; `make help` lists them.

# First of all, before anything is downloaded.
ifneq ($(shell uname -s),Linux)
$(error tf_blocksparse builds on Linux only, this is $(shell uname -s): use a \
Linux machine, WSL 2 or a container)
endif
ifeq ($(filter oneshell,$(.FEATURES)),)
$(error GNU make 3.82 or later is needed, this is $(MAKE_VERSION))
endif

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Flags of the program behind `make demo` or `make bench`.
ARGS ?=
# The Python that .venv is made from.
PYTHON ?= python3

# Processes that share the tests of Python: one for each core. All of them load
# TensorFlow and every test first, so that more than four gain little.
WORKERS := -n logical --maxprocesses=4 --dist=worksteal

# What `make fuzz` compiles with, and what of.
CLANG ?=
FUZZERS := adam convolutions products

VENV := .venv
PY := $(VENV)/bin/python
BAZEL_BIN = "$${BAZEL:-$$(command -v bazel || command -v bazelisk)}"

BUILDIFIER_VERSION := 8.2.1
BUILDIFIER := $(VENV)/node/$(BUILDIFIER_VERSION)/node_modules/.bin/buildifier

.PHONY: help
help:  ## list the commands
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) |
	expand -t 14

.PHONY: setup
setup: system $(VENV)/.installed  ## install what is missing: .venv, TensorFlow, Bazel
	@$(PY) cc/bazel/bazel_command.py

# Ahead of the downloads of TensorFlow, which take longest.
.PHONY: system
system: venv
	@cc/bazel/install_bazel.sh
	$(PY) cc/bazel/bazel_command.py --check

# Each time: the Python that .venv is made from may have gone since.
.PHONY: venv
venv:
	@if [[ -e $(VENV)/bin ]]; then
	  python=$(PY)
	  modules=pip
	  advice="remove $(VENV) (rm -rf $(VENV)) and try again"
	else
	  python=$(PYTHON)
	  modules="ensurepip venv"
	  advice="PYTHON names another: make setup PYTHON=python3.12"
	fi
	if ! command -v $$python >/dev/null; then
	  complaint="there is no $$python; Python 3.10 to 3.13 is needed"
	elif complaint=$$($$python cc/bazel/check_python.py $$modules 2>&1); then
	  complaint=
	fi
	if [[ -n $$complaint ]]; then
	  echo "error: $$complaint; $$advice" >&2
	  exit 1
	fi
	if [[ $$python != $(PY) ]]; then
	  echo "making $(VENV) with $$($(PYTHON) --version)"
	  $(PYTHON) -m venv $(VENV)
	fi

$(VENV)/.installed: .ci/requirements.txt cc/bazel/tensorflow_wheel.py | system
	@wanted=$$($(PY) cc/bazel/tensorflow_wheel.py --requirement)
	echo "installing $$wanted and the tools into $(VENV)"
	$(PY) -m pip install --quiet --disable-pip-version-check \
	  "$$wanted" -r .ci/requirements.txt || {
	  echo "error: pip could not install them, see above" >&2
	  exit 1
	}
	touch $@

BUILT := libtf_blocksparse.so libtf_blocksparse_xla.so built_for.json

.PHONY: build
build: setup  ## compile the op libraries into tf_blocksparse/
	@$(BAZEL_BIN) build $(BUILT:%=//:%)
	for file in $(BUILT); do
	  if ! cmp -s .bazel/bin/cc/tf/$$file tf_blocksparse/$$file; then
	    install -m 644 .bazel/bin/cc/tf/$$file tf_blocksparse/$$file
	    echo "wrote tf_blocksparse/$$file"
	  fi
	done

.PHONY: test
test: build  ## run every test: C++, then Python (ARGS go to pytest)
	@$(BAZEL_BIN) test //:tests
	$(PY) -m pytest $(WORKERS) --durations=10 -m "not complete" $(ARGS)

# Inputs that reach something new go to .build/fuzz, as do those that fail.
.PHONY: fuzz
fuzz: setup  ## fuzz the kernels with Clang: 3 minutes (ARGS go to libFuzzer)
	@clang=$(CLANG)
	clang=$${clang:-$$(compgen -c clang | grep -E '^clang(-[0-9]+)?$$' |
	  sort -Vr | head -1 || true)}
	if [[ -z $$clang ]]; then
	  echo "error: there is no Clang, which brings libFuzzer: install it" \
	    "(apt-get install clang-16 libclang-rt-16-dev) or name one:" \
	    "make fuzz CLANG=clang-16" >&2
	  exit 1
	fi
	$(BAZEL_BIN) build --config=fuzz --repo_env=CC=$$clang \
	  $(FUZZERS:%=//cc/fuzz:fuzz_%)
	for target in $(FUZZERS); do
	  found=.build/fuzz/$$target
	  mkdir -p $$found
	  .bazel/fuzz-bin/cc/fuzz/fuzz_$$target -max_total_time=60 -max_len=1500 \
	    -timeout=60 -artifact_prefix=.build/fuzz/ $(ARGS) \
	    $$found cc/fuzz/corpus/$$target
	done

.PHONY: sanitize
sanitize: setup  ## run the C++ tests with sanitizers: an hour at first
	@$(BAZEL_BIN) test --config=asan //:tests
	$(BAZEL_BIN) test --config=tsan //:tests

# A program of absl that shows its flags ends with 1.
ASKED_FOR_HELP = [[ " $(ARGS) " == *" --help"* ]]

.PHONY: portability
portability: setup  ## run C++ tests on emulated processors (see docs)
	@BAZEL=$(BAZEL_BIN) tools/portability.sh $(ARGS)

.PHONY: demo
demo: build  ## dense against sparse on real text (ARGS="--help" lists flags)
	@PYTHONPATH=. $(PY) examples/char_lm.py $(ARGS) || $(ASKED_FOR_HELP)

.PHONY: bench
bench: build  ## measure everything: 40 minutes (ARGS="--help" lists flags)
	@PYTHONPATH=. $(PY) benchmarks/bench.py $(ARGS) || $(ASKED_FOR_HELP)

PYTHON_FILES := $(wildcard setup.py tf_blocksparse tests benchmarks examples) \
	cc/bazel
# As one list for xargs: the files are many.
CXX_FILES = find cc examples -name '*.c' -o -name '*.cc' -o -name '*.h'
BAZEL_FILES = ls BUILD MODULE.bazel WORKSPACE WORKSPACE.bzlmod; \
	find cc examples -name BUILD -o -name '*.BUILD' -o -name '*.bzl' \
	-o -name WORKSPACE

.PHONY: lint
lint: $(VENV)/.installed $(BUILDIFIER)  ## check style and types
	@$(VENV)/bin/ruff check --quiet $(PYTHON_FILES)
	$(VENV)/bin/ruff format --quiet --check $(PYTHON_FILES) || {
	  echo "error: not formatted as by \`make format\` (ruff format --diff)" >&2
	  exit 1
	}
	$(VENV)/bin/mypy --no-error-summary
	$(CXX_FILES) | xargs $(VENV)/bin/clang-format --dry-run --Werror
	{ $(BAZEL_FILES); } | xargs $(BUILDIFIER) --mode=check --lint=warn
	echo "lint: no complaints"

.PHONY: format
format: $(VENV)/.installed $(BUILDIFIER)  ## rewrite the sources in style
	@$(VENV)/bin/ruff check --quiet --fix $(PYTHON_FILES) || true
	$(VENV)/bin/ruff format --quiet $(PYTHON_FILES)
	$(CXX_FILES) | xargs $(VENV)/bin/clang-format -i
	{ $(BAZEL_FILES); } | xargs $(BUILDIFIER) --lint=fix

$(BUILDIFIER): | $(VENV)/.installed
	@command -v npm >/dev/null || {
	  echo "error: buildifier comes through npm, and there is no npm in PATH:" \
	    "install it (apt-get install npm) or name a buildifier" \
	    "$(BUILDIFIER_VERSION): make lint BUILDIFIER=/path/to/it" >&2
	  exit 1
	}
	echo "installing buildifier $(BUILDIFIER_VERSION) into $(VENV)"
	folder=$(VENV)/node/$(BUILDIFIER_VERSION)
	mkdir -p $$folder
	npm install --silent --no-audit --no-fund --prefix $$folder \
	  @bazel/buildifier@$(BUILDIFIER_VERSION) </dev/null || {
	  echo "error: npm could not install @bazel/buildifier" >&2
	  exit 1
	}

.PHONY: clean
clean:  ## remove what was built (not .venv)
	@if [[ -e .bazelrc.setup && -n $(BAZEL_BIN) ]]; then
	  $(BAZEL_BIN) clean
	fi
	rm -rf .bazel .build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	rm -f $(BUILT:%=tf_blocksparse/%)
