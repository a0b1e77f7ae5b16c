"""Sparse matrices are checked before anything trusts their indices."""

import numpy as np
import pytest
from _damaged import DAMAGED, damaged
from scipy import sparse

from skrank._core._sparse import check_sparse, narrow_csr


@pytest.mark.parametrize(("kind", "format"), DAMAGED)
def test_sparse_rows_with_indices_beyond_their_shape(kind, format):
    with pytest.raises(ValueError, match="Z must be a sparse matrix whose indices lie"):
        check_sparse(damaged(kind, format), "Z")


def test_the_same_rows_are_checked_once():
    X = damaged("beyond", "csr")
    for _ in range(2):  # only what is in order is remembered
        with pytest.raises(ValueError, match="Z must be a sparse matrix whose indices"):
            check_sparse(X, "Z", once=True)
    sound = sparse.eye(3, format="csr")
    check_sparse(sound, once=True)
    sound.indices[0] = 9
    check_sparse(sound, once=True)
    with pytest.raises(ValueError, match="X must be a sparse matrix whose indices lie"):
        check_sparse(sound.copy(), once=True)
    check_sparse(None, once=True)


def test_diagonals_have_as_many_offsets_as_rows():
    X = sparse.dia_matrix(np.eye(6, 4) + np.eye(6, 4, 1))
    check_sparse(X)
    X.offsets = X.offsets[:1]
    with pytest.raises(ValueError, match="must be a sparse matrix whose indices lie"):
        check_sparse(X)


def test_blocks_fill_the_matrix():
    X = sparse.bsr_matrix(np.eye(6, 4), blocksize=(3, 2))
    check_sparse(X)
    other = sparse.bsr_matrix(np.eye(6, 4), blocksize=(3, 2))
    X._shape = (7, 4)
    other.data = np.zeros((len(other.data), 0, 2))
    for wrong in (X, other):
        with pytest.raises(ValueError, match="must be a sparse matrix whose indices"):
            check_sparse(wrong)


def test_a_sparse_row_without_axis_is_a_row():
    row = sparse.csr_array(np.array([[0.0, 1.0, 2.0]]))
    check_sparse(row)
    if hasattr(sparse, "coo_array") and sparse.coo_array(np.ones(3)).ndim == 1:
        flat = sparse.coo_array(np.ones(3)).tocsr()
        check_sparse(flat)
        flat.indices[0] = 9
        with pytest.raises(ValueError, match="must be a sparse matrix whose indices"):
            check_sparse(flat)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sparse_rows_of_every_format(format):
    X = sparse.random(6, 4, density=0.7, format=format, random_state=0)
    check_sparse(X)
    check_sparse(sparse.csr_array((0, 3)).asformat(format))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia"])
def test_indices_are_narrow_where_they_fit(format):
    X = sparse.random(5, 4, density=0.5, format=format, random_state=0)
    wide = X.tocsr()
    wide.indices, wide.indptr = wide.indices.astype(int), wide.indptr.astype(int)
    for given in (X, wide):
        found = narrow_csr(given)
        assert found.indices.dtype == found.indptr.dtype == np.int32
        np.testing.assert_array_equal(found.toarray(), X.toarray())
