# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""setuptools as the build backend, but against the user's own TensorFlow.

pip builds in an environment of its own. Were TensorFlow a requirement of the
build, pip would put another copy there, perhaps of another minor, and the
library would not load in the user's. So it is one only where there is none.
"""

import sys

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
    requires = build_meta.get_requires_for_build_wheel(config_settings)
    # Where no wheel of TensorFlow fits, setup.py says so in one line; asking
    # for it would bury that under pip's.
    if tensorflow_wheel.find() is None and sys.platform == "linux":
        requires.append(tensorflow_wheel.requirement())
    return requires


get_requires_for_build_editable = get_requires_for_build_wheel
