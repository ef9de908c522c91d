# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Attention layers with block-sparse projections."""

import keras

from tf_blocksparse.layers._sparse_projections import SparseProjections


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class BlockSparseMultiHeadAttention(
    SparseProjections, keras.layers.MultiHeadAttention
):
    """MultiHeadAttention of which only some blocks of the projections exist.

    Use it where the projections of `keras.layers.MultiHeadAttention` take the
    time, which they do unless sequences are long: attention itself is computed
    by Keras as ever. All of Keras's arguments and calls mean the same.

    Each of `query_dense`, `key_dense`, `value_dense` and `output_dense` is a
    `BlockSparseEinsumDense`, whose weight is a matrix: (features,
    heads * key_dim) for the first two, (features, heads * value_dim) for the
    third, and (heads * value_dim, features) for the last.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseMultiHeadAttention
    >>> layer = BlockSparseMultiHeadAttention(
    ...     4, 16, block_size=16, sparsity=0.5
    ... )
    >>> x = keras.ops.ones((2, 10, 64))
    >>> tuple(layer(x, x).shape)
    (2, 10, 64)
    >>> tuple(layer.query_dense.blocks.shape)
    (8, 16, 16)

    Args:
        num_heads, key_dim, ...: as for `keras.layers.MultiHeadAttention`;
            initializers, regularizers and constraints are those of the
            blocks, as in `BlockSparseDense`. `seed` is that of the dropout.
        block_size: Integer or pair `(b_in, b_out)`, from 1 to 256.
        sparsity: Float from 0 to 1, the share of blocks to leave out of each
            projection that `layouts` does not name.
        layouts: Dict of a `BlockLayout`, or `"dense"` for a projection that
            stays as Keras makes it, by the names `"query"`, `"key"`,
            `"value"`, `"attention_output"` and, with `use_gate`, `"gate"`.
        layout_seed: Integer that fixes random layouts; each projection's is
            that plus its place in the list of names above.
        gate: None, or `"mask"` for prunable projections, as in
            `BlockSparseDense`. (Keras's `use_gate` is another thing.)
        **kwargs: as for Keras's layer.

    Call arguments, input shape, output shape:
        As for Keras's layer.

    Raises:
        ValueError: an argument or a weights file that does not fit; the text
            says what was got, what was expected and what to do.
    """


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class BlockSparseGroupQueryAttention(
    SparseProjections, keras.layers.GroupQueryAttention
):
    """GroupQueryAttention of which only some blocks of the projections exist.

    Use it where the projections of `keras.layers.GroupQueryAttention` take the
    time; attention itself is computed by Keras as ever. All of Keras's
    arguments and calls mean the same.

    `projections()` are `BlockSparseEinsumDense` layers, whose weights are
    matrices: (features, query heads * head_dim) for "query", (features,
    key-value heads * head_dim) for "key" and "value", and (query heads *
    head_dim, features) for "attention_output".

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseGroupQueryAttention
    >>> layer = BlockSparseGroupQueryAttention(
    ...     16, 4, 2, block_size=16, sparsity=0.5
    ... )
    >>> x = keras.ops.ones((2, 10, 64))
    >>> tuple(layer(x, x).shape)
    (2, 10, 64)
    >>> tuple(layer.projections()["key"].blocks.shape)
    (4, 16, 16)

    Args:
        head_dim, num_query_heads, num_key_value_heads, ...: as for
            `keras.layers.GroupQueryAttention`. `seed` is that of the dropout.
        block_size, sparsity, layouts, layout_seed, gate: as for
            `BlockSparseMultiHeadAttention`.
        **kwargs: as for Keras's layer.

    Call arguments, input shape, output shape:
        As for Keras's layer.

    Raises:
        ValueError: see `BlockSparseMultiHeadAttention`.
    """
