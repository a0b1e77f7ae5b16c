"""Formulas of features: their text, their parts, and their values."""

import re
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._measures import program_scores
from skrank._core._messages import shown

OPERATORS = ("+", "-", "*", "/")
#: A feature by its number, a constant, or an operator by its sign.
Token = int | float | str
Tokens = tuple[Token, ...]

_WORD = re.compile(r"\s*(x\d+|[-+]?\d[\d.]*(?:e[-+]?\d+)?|[-+*/()])", re.ASCII)


def text_of(tokens: Tokens) -> str:
    """Return a formula as text, such as ``"((x0 + 0.5) / x3)"``.

    Parameters
    ----------
    tokens : tuple
        The formula, operands first.

    Returns
    -------
    str
        Text that `parse` reads back to the same tokens.
    """
    stack: list[str] = []
    for token in tokens:
        if isinstance(token, str):
            right, left = stack.pop(), stack.pop()
            stack.append(f"({left} {token} {right})")
        else:
            stack.append(f"x{token}" if isinstance(token, int) else repr(token))
    return stack[0]


def parse(text: str) -> Tokens:
    """Read a formula, in which every operation stands in parentheses.

    Parameters
    ----------
    text : str
        Text as returned by `text_of`.

    Returns
    -------
    tuple
        The formula, operands first.

    Raises
    ------
    ValueError
        If the text is no formula.
    """
    tokens: list[Token] = []
    # What is still open: operands that were read since a parenthesis, and the operator.
    open_operations: list[list] = [[0, None]]
    place, end = 0, len(text.rstrip())
    while place < end:
        wants_operator = open_operations[-1][0] == 1 and len(open_operations) > 1
        match = _WORD.match(text, place)
        word = None if match is None else match[1]
        if wants_operator and open_operations[-1][1] is None:
            word = "" if match is None else match[1][0]
            if word not in OPERATORS:
                raise _no_formula(text, place)
            open_operations[-1][1] = word
            assert match is not None
            place = match.start(1) + 1
            continue
        if match is None or word is None or word in OPERATORS:
            raise _no_formula(text, place)
        place = match.end()
        if word == "(":
            open_operations.append([0, None])
            continue
        if word == ")":
            if len(open_operations) < 2 or open_operations[-1][0] != 2:
                raise _no_formula(text, place)
            tokens.append(open_operations.pop()[1])
        else:
            tokens.append(int(word[1:]) if word[0] == "x" else _number(word, text))
        open_operations[-1][0] += 1
        if open_operations[-1][0] > (1 if len(open_operations) == 1 else 2):
            raise _no_formula(text, place)
    if len(open_operations) != 1 or open_operations[0][0] != 1:
        raise _no_formula(text, place)
    return tuple(tokens)


def _number(word, text) -> float:
    try:
        number = float(word)
    except ValueError:
        raise _no_formula(text, text.index(word)) from None
    if not np.isfinite(number):
        raise _no_formula(text, text.index(word))
    return number


def _no_formula(text, place) -> ValueError:
    return ValueError(
        "a formula must consist of features such as x0, finite numbers and operations "
        f"in parentheses such as (x0 + 0.5), got {shown(text)}; the mistake is at "
        f"character {place}"
    )


def columns_for(X: Any) -> np.ndarray:
    """Return rows as columns in double precision, which `values_of` takes.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_documents, n_features), Fortran order
    """
    dense = X.toarray() if sparse.issparse(X) else X
    return np.asfortranarray(dense, dtype=np.float64)


def values_of(tokens: Tokens, columns: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the value of a formula for every row.

    A division by less than ``1e-100`` in size is 1, and values beyond ``1e100`` become
    ``1e100``, so that every value is finite.

    Parameters
    ----------
    tokens : tuple
        The formula, operands first.
    columns : ndarray of shape (n_documents, n_columns), Fortran order
        Features.
    n_threads : int
        Number of threads. Results do not depend on it.

    Returns
    -------
    ndarray of shape (n_documents,)

    Raises
    ------
    ValueError
        If the formula asks for a column that there is not.
    """
    n_columns = columns.shape[1]
    constants = [token for token in tokens if isinstance(token, float)]
    codes, n_constants = np.empty(len(tokens), dtype=np.int32), 0
    for k, token in enumerate(tokens):
        if isinstance(token, str):
            codes[k] = -1 - OPERATORS.index(token)
        elif isinstance(token, float):
            codes[k] = n_columns + n_constants
            n_constants += 1
        elif token < n_columns:
            codes[k] = token
        else:
            raise ValueError(f"feature x{token} is beyond the {n_columns} there are")
    rest = np.array(constants, dtype=np.float64)
    return program_scores(columns.T, codes, rest, n_threads)


def start_of(tokens: Tokens, end: int) -> int:
    """Return where the part of a formula begins that ends with a token.

    Parameters
    ----------
    tokens : tuple
        The formula, operands first.
    end : int
        Place of the last token of the part.

    Returns
    -------
    int
    """
    wanted, place = 1, end + 1
    while wanted:
        place -= 1
        wanted += 1 if isinstance(tokens[place], str) else -1
    return place


def depth_of(tokens: Tokens) -> int:
    """Return the largest number of operations one within another."""
    stack: list[int] = []
    for token in tokens:
        if isinstance(token, str):
            right, left = stack.pop(), stack.pop()
            stack.append(1 + max(left, right))
        else:
            stack.append(0)
    return stack[0]


def substituted(tokens: Tokens, n_features: int, parts: list[Tokens]) -> Tokens:
    """Return a formula with other formulas in place of features beyond the last one."""
    found: list[Token] = []
    for token in tokens:
        if isinstance(token, int) and token >= n_features:
            found.extend(parts[token - n_features])
        else:
            found.append(token)
    return tuple(found)
