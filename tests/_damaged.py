"""Sparse matrices that no library builds, as mutated files and mistakes make them."""

from scipy import sparse


def damaged(kind, format, n_columns=4, n_rows=6):
    """Sparse rows whose arrays do not belong together."""
    X = sparse.random(n_rows, n_columns, density=0.7, format=format, random_state=0)
    if format == "lil":
        X.rows[0] = {"below": [-1], "beyond": [n_columns]}.get(kind, [0, 1])
        X.data[0] = [1.0]
        if kind == "too far":
            X.rows, X.data = X.rows[1:], X.data[1:]
    elif format == "coo":
        X.row[0] = {"below": -1, "beyond": n_rows}[kind]
    elif kind in ("below", "beyond"):
        X.indices[0] = {"below": -1, "beyond": 10**6}[kind]
    else:
        X.indptr[1] = {"descends": -5, "too far": 10**6}[kind]
    return X


KINDS = ["below", "beyond", "descends", "too far"]
DAMAGED = [
    *((k, f) for k in KINDS for f in ("csr", "csc", "bsr")),
    *((k, "lil") for k in KINDS),
    *((k, "coo") for k in KINDS[:2]),
]
