#!/usr/bin/env bash
# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# Usage: ptxas_test.sh ARCH,ARCH... LOG...
# Each log has what `nvcc -Xptxas -v` tells of one source. A kernel that spills
# has more numbers at hand than registers, and waits for memory in its loop: the
# sizes of its tile, or how many blocks of threads share a multiprocessor, are
# wrong for a GPU (kBlocksTogether in cc/kernels/cuda/config.h).
set -euo pipefail

archs=$1
shift
for arch in ${archs//,/ }; do
  kernels=0
  for log in "$@"; do
    found=$(grep -c "Compiling entry function .* for 'sm_$arch'" "$log" || true)
    kernels=$((kernels + found))
  done
  if ((kernels == 0)); then
    echo "no kernel for sm_$arch in $*" >&2
    exit 1
  fi
done
spills=$(awk '
  /Compiling entry function/ { arch = $NF }
  /Function properties for/ { name = $NF }
  /bytes spill stores/ && !/ 0 bytes spill stores, 0 bytes spill loads/ {
    print name, "for", arch ":" $0
  }' "$@")
if [[ -n $spills ]]; then
  echo "kernels that spill registers:" >&2
  c++filt <<<"$spills" >&2
  exit 1
fi
