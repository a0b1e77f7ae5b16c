"""Judgements as rows of a query, a document and a grade."""

import numpy as np

from skrank._core._id_arrays import comparable_ids, id_list
from skrank._core._messages import shown
from skrank._core._validation import check_arguments
from skrank.datasets import Qrels
from skrank.datasets._run_likes import QrelsLike, table_of
from skrank.retrieval._queries import QueryTexts, named_queries
from skrank.text._texts import as_texts


def judged_pairs(
    queries: QueryTexts, qrels: QrelsLike, *, field: str | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return judgements as the rows that `TextRanker` learns from.

    Parameters
    ----------
    queries : TextCollection, mapping of id to text, or sequence of str
        Queries; those of a sequence have the numbers of their places as ids.
    qrels : Qrels, mapping {query: {document: grade}}, data frame, path or other table
        Judgements, in any form that `skrank.metrics.evaluate` takes. A negative grade
        means that nobody judged the document, and makes no row.
    field : str, default=None
        Field of a `TextCollection` that holds the queries; None takes its only one.

    Returns
    -------
    X : ndarray of shape (n_judgements, 2), dtype object
        Text of the query and id of the document.
    y : ndarray of shape (n_judgements,), dtype float64
        Grades.
    groups : ndarray of shape (n_judgements,)
        Id of the query.

    Raises
    ------
    ValueError
        If a judged query is not among the queries, or there is no such field.
    TypeError
        If the judgements are of another kind, or a query is no string.

    Examples
    --------
    >>> from skrank.retrieval import judged_pairs
    >>> X, y, groups = judged_pairs({"q1": "sort rows"}, {"q1": {"d7": 2, "d9": 0}})
    >>> X.tolist(), y.tolist(), groups.tolist()
    ([['sort rows', 'd7'], ['sort rows', 'd9']], [2.0, 0.0], ['q1', 'q1'])
    """
    check_arguments(judged_pairs, field=field)
    ids, texts = named_queries(queries, field)
    texts = as_texts(texts, "queries")
    table: Qrels = table_of("qrels", qrels, "judged_pairs")
    known, asked = map(id_list, comparable_ids(ids, table.groups))
    place = {query: i for i, query in enumerate(known)}
    unknown = list(dict.fromkeys(query for query in asked if query not in place))
    if unknown:
        raise ValueError(
            f"qrels judge {len(unknown)} queries that are not among the queries, such "
            f"as {shown(unknown[0])}"
        )
    grades = np.asarray(table.y, dtype=np.float64)
    kept = np.flatnonzero(grades >= 0)
    X = np.empty((len(kept), 2), dtype=object)
    X[:, 0] = [texts[place[asked[row]]] for row in kept.tolist()]
    X[:, 1] = table.docids[kept]
    return X, grades[kept], table.groups[kept]
