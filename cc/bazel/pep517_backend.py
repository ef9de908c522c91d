# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""setuptools as the build backend, but against the user's own TensorFlow.

pip builds in an environment of its own. Were TensorFlow a requirement of the
build, pip would put another copy there, perhaps of another minor, and the
library would not load in the user's. So it is one only where there is none.
"""

import sys

import bazel_command
import tensorflow_wheel
from setuptools import build_meta

build_sdist = build_meta.build_sdist
build_wheel = build_meta.build_wheel
build_editable = build_meta.build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = (
    build_meta.prepare_metadata_for_build_editable
)


def get_requires_for_build_wheel(config_settings=None):
    # Before pip has downloaded anything for a build that cannot work.
    try:
        bazel_command.check_system()
    except bazel_command.CannotBuildError as error:
        sys.exit(f"error: {error}")
    requires = build_meta.get_requires_for_build_wheel(config_settings)
    if tensorflow_wheel.find() is None:
        requires.append(tensorflow_wheel.requirement())
    return requires


get_requires_for_build_editable = get_requires_for_build_wheel
