#!/usr/bin/env bash
# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# Builds and tests the package with several Pythons and TensorFlows, each pair
# in an environment of its own, and prints the outcome as a table in Markdown.
set -euo pipefail

usage() {
  cat <<'END'
Usage: tools/matrix.sh [OPTION]... [PYTHON:TENSORFLOW]...

  tools/matrix.sh                                  # every pair below
  tools/matrix.sh 3.12:tensorflow-cpu==2.20.0      # one
  tools/matrix.sh --full 3.11:tensorflow==2.19.*   # every test, not a part

A pair is a version of Python and what pip is asked for. Progress goes to
stderr, the table to stdout. Ends with 1 if a pair fails.

  --full         run every test that plain pytest runs, not the quick part
  --keep         leave the environments (2 GB each) where they are
  --list         only print the pairs
  --work=FOLDER  where everything is done (default: .build/matrix)

Kernels for GPUs are left out, unless TF_BLOCKSPARSE_CUDA says otherwise.
END
}

# What TensorFlow has wheels for, of the Pythons that this package supports.
pairs=(
  3.{10,11,12}:tensorflow-cpu==2.19.1
  3.{10,11,12,13}:tensorflow-cpu==2.20.0
  3.{10,11,12,13}:tensorflow-cpu==2.21.0
  3.12:tensorflow==2.21.0
)

# A part of every feature: what an import checks, ops with their gradients and
# types, layers in models and files, exported models in Python and C, training,
# conversion, XLA. A few minutes a pair.
quick_tests=(
  tests/callbacks/block_pruning_test.py
  tests/conversion/sparsify_test.py
  tests/layers/block_sparse_dense_saving_test.py
  tests/layers/block_sparse_multi_head_attention_test.py
  tests/layers/export_test.py
  tests/ops/conv_acceptance_test.py
  tests/ops/dtype_test.py
  tests/ops/gate_test.py
  tests/ops/library_test.py
  tests/optimizers/adam_test.py
  tests/serving/saved_model_test.py
  tests/xla
)

cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=.build/matrix
full=
keep=
chosen=()
for word; do
  case $word in
    --full) full=1 ;;
    --keep) keep=1 ;;
    --list) printf '%s\n' "${pairs[@]}"; exit ;;
    --work=*) work=${word#*=} ;;
    --help) usage; exit ;;
    3.*:?*) chosen+=("$word") ;;
    *) usage >&2; exit 2 ;;
  esac
done
((${#chosen[@]})) && pairs=("${chosen[@]}")
[[ -n $full ]] && quick_tests=()
export TF_BLOCKSPARSE_CUDA=${TF_BLOCKSPARSE_CUDA:-0}
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}

say() { echo "$@" >&2; }

find_python() { # find_python 3.11: prints the path of one that runs
  local python
  local pyenv=${PYENV_ROOT:-$HOME/.pyenv}
  for python in "python$1" "$pyenv/versions/$1".*/bin/python; do
    if "$python" -c pass 2>/dev/null; then
      "$python" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  return 1
}

# The tree is copied: what is built for another TensorFlow must not take the
# place of what the user has built there.
copy_tree() {
  mkdir -p "$work"
  work=$(cd "$work" && pwd)
  rm -rf "$work/tree"
  mkdir "$work/tree"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do
      [[ ! -e $file ]] || printf '%s\0' "$file"
    done |
    xargs -0 cp --parents --no-dereference --target-directory="$work/tree"
}

# Each step writes into the log of its pair; the first to fail names itself.
step() { # step NAME COMMAND...
  current=$1
  say "    $current"
  (cd "$work/tree" && "${@:2}") >>"$log" 2>&1
}

# Most of TensorFlow's ten thousand modules are never imported: they are not
# compiled ahead, which takes as long as unpacking them.
install() {
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-compile \
    --quiet "$@"
}

test_pair() { # test_pair PYTHON REQUIREMENT
  local interpreter
  current="find python$1"
  interpreter=$(find_python "$1") || return
  rm -rf "$venv"
  step "make an environment" "$interpreter" -m venv "$venv" &&
    step "install $2" install "$2" &&
    step "install tools" install -r "$work/requirements.txt" &&
    step "configure Bazel" "$venv/bin/python" cc/bazel/bazel_command.py &&
    step "build tf_blocksparse" install --no-deps --editable . &&
    step "test" "$venv/bin/python" -m pytest -p no:cacheprovider \
      "${quick_tests[@]}"
}

# Of the environment that there is now: versions, between bars.
versions() {
  "$venv/bin/python" - 2>>"$log" <<'END'
import importlib.metadata
import platform

names = ["keras", "numpy"]
versions = [importlib.metadata.version(name) for name in names]
print(" | ".join([platform.python_version(), *versions]))
END
}

machine() {
  local system bazel
  system=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)
  bazel=$("${BAZEL:-bazel}" --version 2>/dev/null | head -n 1) || bazel="bazel"
  if [[ $bazel == *no_version* ]]; then
    bazel="bazel $(dpkg-query -Wf '${Version}' bazel-bootstrap)"
  fi
  printf '%s, %s; %s; %s; tf_blocksparse %s (%s); kernels for GPUs: %s\n' \
    "$system" "$(uname -m)" \
    "$("${CC:-gcc}" --version | head -n 1)" "$bazel" \
    "$(sed -n 's/^__version__ = "\(.*\)"/\1/p' tf_blocksparse/__init__.py)" \
    "$(git log -1 --format=%cs)" \
    "$([[ $TF_BLOCKSPARSE_CUDA == 0 ]] && echo no || echo yes)"
}

copy_tree
# The linters are not needed, and not to be had for every Python.
grep -vE '^(clang-format|mypy|ruff)=' .ci/requirements.txt \
  >"$work/requirements.txt"
trap '(cd "$work/tree" && "${BAZEL:-bazel}" shutdown) >/dev/null 2>&1' EXIT

# Row by row, so that what was run is told if something ends the rest.
machine
echo
echo "| TensorFlow | Python | Keras | NumPy | tests |"
echo "| --- | --- | --- | --- | --- |"
failures=0
for i in "${!pairs[@]}"; do
  python=${pairs[i]%%:*}
  requirement=${pairs[i]#*:}
  name=${pairs[i]//[^A-Za-z0-9.]/-}
  venv=$work/$name
  log=$work/$name.log
  : >"$log"
  say "[$((i + 1))/${#pairs[@]}] Python $python, $requirement"
  if test_pair "$python" "$requirement"; then
    outcome=$(grep -E '^[0-9]+ passed' "$log" | tail -n 1)
  else
    failures=$((failures + 1))
    outcome="**fails**: $current"
    say "    failed; the end of $log:"
    tail -n 15 "$log" >&2
  fi
  row="| ${requirement/==/ } | $(versions || echo "$python | |")"
  echo "$row | $outcome |"
  say "    $outcome"
  [[ -n $keep ]] || rm -rf "$venv"
done

((failures == 0))
