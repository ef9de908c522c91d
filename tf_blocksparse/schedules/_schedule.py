# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What all schedules have in common."""

import abc
import dataclasses
from typing import Any

import numpy as np


class Schedule(abc.ABC):
    """What all schedules have in common: they are frozen and have a config."""

    @abc.abstractmethod
    def __call__(self, step: int) -> float:
        """The sparsity, or threshold, for so many finished training steps."""

    @abc.abstractmethod
    def is_due(self, step: int) -> bool:
        """Whether something is to be pruned after so many training steps."""

    @property
    @abc.abstractmethod
    def last_step(self) -> int:
        """The last step that can be due."""

    def get_config(self) -> dict[str, Any]:
        """The arguments, as a dict that JSON can hold."""
        config = dataclasses.asdict(self)  # type: ignore[call-overload]
        # JSON knows no numbers of NumPy.
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in config.items()
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Schedule":
        """The schedule that `get_config` described."""
        return cls(**config)
