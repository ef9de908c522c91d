# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Scikit-learn's handwritten digits, as the examples learn and test them."""

import numpy as np
from sklearn.datasets import load_digits

TEST_IMAGES = 512
MOST_IMAGES = 1285


class Digits:
    """The images, 8 x 8 pixels from 0 to 1, and their digits."""

    def __init__(self, images: int = MOST_IMAGES) -> None:
        digits = load_digits()
        pixels = (digits.images[..., None] / 16).astype(np.float32)
        # The last ones, which are in large part of other writers' hands.
        self.test = pixels[-TEST_IMAGES:], digits.target[-TEST_IMAGES:]
        self.learn = pixels[:images], digits.target[:images]

    def epoch(
        self, seed: int, epoch: int, batch: int
    ) -> list[tuple[np.ndarray, ...]]:
        """The batches of an epoch, the same for every model."""
        images, targets = self.learn
        order = np.random.default_rng((seed, epoch)).permutation(len(images))
        starts = range(0, len(order) - batch + 1, batch)
        places = [order[start : start + batch] for start in starts]
        return [(images[place], targets[place]) for place in places]
