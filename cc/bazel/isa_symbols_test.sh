#!/usr/bin/env bash
# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# Usage: isa_symbols_test.sh ISA ARCHIVE...
# Of an inline function that several objects hold, the linker keeps any one.
# Were it the one compiled for AVX-512, a machine without would run it too, and
# stop. So an object of an instruction set may share only what is of its own
# namespace, and may run nothing when it is loaded, on whatever machine.
set -euo pipefail

isa=$1
shift
if (($# == 0)); then
  echo "no archive of $isa" >&2
  exit 1
fi
symbols=$(nm --demangle --defined-only "$@")
grep -q "::$isa::" <<<"$symbols" || {
  echo "nothing of namespace $isa in $*" >&2
  exit 1
}
# Lines are "address type name": of types V, W and u there may be several.
# DW.ref is a pointer of the compiler's, for exceptions.
shared=$(grep -E '^[0-9a-f]+ [VvWwu] ' <<<"$symbols" |
  grep -vE "::$isa::| DW\.ref\." || true)
loaded=$(grep -E '_GLOBAL__sub_I|__static_initialization' <<<"$symbols" || true)
if [[ -n $shared$loaded ]]; then
  echo "shared with other objects, or run when the library is loaded:" >&2
  printf '%s\n' "$shared" "$loaded" >&2
  exit 1
fi
