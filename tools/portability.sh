#!/usr/bin/env bash
# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# Runs the C++ tests on emulated processors. See docs/portability.md.
set -euo pipefail
shopt -s extglob

usage() {
  cat <<'END'
Usage: tools/portability.sh [STRIDE] [PROCESSOR...]

Runs the C++ tests on emulated processors: aarch64, cross-compiled, or an x86-64
that QEMU knows by that name. Default: aarch64, Nehalem, which has no AVX, and
Haswell, which has no AVX-512.

Tests that go through a table take every STRIDE-th entry of it; 1 takes all,
which takes hours. A prime meets all of the periods that tables have.
END
}
stride=61
processors=()
for word; do
  case $word in
    --help) usage; exit ;;
    [1-9]*([0-9])) stride=$word ;;
    aarch64 | [A-Z]*) processors+=("$word") ;;
    *) usage >&2; exit 2 ;;
  esac
done
((${#processors[@]})) || processors=(aarch64 Nehalem Haswell)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
for program in aarch64-linux-gnu-g++ qemu-aarch64 qemu-x86_64; do
  command -v "$program" >/dev/null || missing+=("$program")
done
if ((${#missing[@]})); then
  echo "error: no ${missing[*]} in PATH: install Debian's packages" \
    "g++-aarch64-linux-gnu and qemu-user" >&2
  exit 1
fi
bazel=${BAZEL:-$(command -v bazel || command -v bazelisk)}

# Not the CUDA kernels, whose own emulator takes minutes without another one.
tests=(//cc/base:tests //cc/layout:tests //cc/testing:tests
  //cc/kernels/reference:tests //cc/kernels/cpu:tests
  //cc/kernels/cuda:plan_test)
failed=()
check() { # check <what> <flags of bazel test...>
  local what=$1
  shift
  echo "== $what"
  "$bazel" test "$@" --keep_going --test_summary=short || failed+=("$what")
}
emulated=(--test_env="TF_BLOCKSPARSE_TEST_STRIDE=$stride"
  --test_timeout=36000 --test_tag_filters=-no-emulator)

for processor in "${processors[@]}"; do
  if [[ $processor == aarch64 ]]; then
    check "aarch64" --config=aarch64 "${emulated[@]}" "${tests[@]}"
    check "what the objects for aarch64 export" --config=aarch64 \
      --run_under=env --test_tag_filters=no-emulator //cc/kernels/cpu:tests
  else
    check "x86-64, $processor" --run_under="qemu-x86_64 -cpu $processor" \
      "${emulated[@]}" "${tests[@]}"
  fi
done

if ((${#failed[@]})); then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "all passed, with every $stride. entry of the tables"
