#!/usr/bin/env bash
# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
# Installs what a build needs from Debian or Ubuntu, if it is not there: a
# compiler, Bazel with its companions, GoogleTest's sources. An existing bazel
# or bazelisk is used as it is. Says nothing when there is nothing to do.
set -euo pipefail

missing=()
want() { # want <package> <test command...>
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}

bazel=${BAZEL:-$(command -v bazel || command -v bazelisk || true)}
if [[ -n $bazel ]] && ! command -v "$bazel" >/dev/null; then
  echo "error: BAZEL is $bazel, but there is no such program" >&2
  exit 1
fi

[[ -n ${CC:-} ]] || want g++ command -v g++
want googletest test -d "${GOOGLETEST_SOURCES:-/usr/src/googletest}"
# Debian's Bazel downloads its companions unless they are installed.
if [[ -z $bazel ]] || "$bazel" --version 2>/dev/null | grep -q no_version; then
  want bazel-bootstrap test -n "$bazel"
  want bazel-rules-java test -d /usr/share/bazel/rules/java
  want bazel-rules-proto test -d /usr/share/bazel/rules/proto
  want bazel-skylib test -d /usr/share/bazel/tools/skylib
fi
((${#missing[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
  echo "error: missing ${missing[*]}, and there is no apt-get to install" \
    "them: install Bazel (or bazelisk) and g++ by hand, unpack GoogleTest" \
    "and set GOOGLETEST_SOURCES to its folder" >&2
  exit 1
fi
sudo=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "error: missing ${missing[*]}: neither root nor sudo here; ask for" \
      "\`apt-get install ${missing[*]}\`" >&2
    exit 1
  fi
  sudo=(sudo)
fi

apt() {
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null
}
echo "installing ${missing[*]} with apt-get"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  apt install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1
}
# The lists of a fresh container are empty, those of an old one outdated.
if ! install && ! { apt update >"$log" 2>&1 && install; }; then
  tail -n 15 "$log" >&2
  echo "error: apt-get could not install ${missing[*]}, see above" >&2
  exit 1
fi
