"""What is said of numbers that are too large or too small, and of which."""

import signal
import sys
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from skrank._core._finite import (
    NotFiniteError,
    checked_rows,
    is_complaint,
    largest_safe,
    quiet,
    require_finite_scores,
    unsafe_range,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_many_squares_as_the_number_says_have_a_finite_sum(dtype):
    safe = largest_safe(dtype)
    assert safe**2 == pytest.approx(float(np.finfo(dtype).max) / safe, rel=1e-6)


def test_whole_numbers_are_as_safe_as_doubles():
    assert largest_safe(np.int64) == largest_safe(bool) == largest_safe(np.float64)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("size", "told"),
    [
        (1e200, "must hold numbers of at most 5.6e+102 in size, "),
        (1e100, None),
        (1.0, None),
        (1e-100, None),
        (1e-200, "must not hold numbers below 1.8e-103 alone"),
        (0.0, None),
        (np.inf, None),
        (np.nan, None),
    ],
)
def test_numbers_of_either_sign_are_looked_at(sign, size, told):
    array = np.array([[0.0, np.nan], [sign * size, 0.0]])
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(array).assign(name="a")
    for values in (array, sparse.csr_matrix(array), frame):
        found = unsafe_range("X", values)
        assert (found is None) == (told is None)
        assert told is None or told in found
        assert told is None or f"{size:.2g}, so scale them" in found


def test_each_precision_has_its_range():
    found = unsafe_range("X", np.full(2, 1e20, dtype=np.float32))
    assert "at most 7e+12 in size" in found
    assert "in float32; found 1e+20" in found
    assert unsafe_range("X", np.full(2, 1e20)) is None
    assert unsafe_range("X", np.full(2, 2**62)) is None


@pytest.mark.parametrize(
    "array", [None, np.empty(0), np.array(["1e300"]), np.full(2, np.nan), [1e300]]
)
def test_nothing_is_said_of_what_holds_no_numbers(array):
    assert unsafe_range("X", array) is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotFiniteError("x"), True),
        (np.linalg.LinAlgError("x"), True),
        (FloatingPointError("x"), True),
        (ValueError("Input X contains NaN."), True),
        (ValueError("array must not contain infs or NaNs"), True),
        (ValueError("information"), False),
        (TypeError("overflow"), False),
    ],
)
def test_complaints_about_large_numbers(error, expected):
    assert is_complaint(error) is expected


def test_sparse_and_missing_rows_are_taken_where_they_are_wanted():
    rows, gaps = sparse.csc_matrix(np.eye(2)), np.array([[1.0, np.nan]])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        checked_rows(Ridge(), rows)
    assert checked_rows(Ridge(), rows, takes_sparse=True).format == "csr"
    with pytest.raises(ValueError, match="NaN"):
        checked_rows(Ridge(), gaps)
    assert np.isnan(checked_rows(Ridge(), gaps, takes_missing=True)[0, 1])
    assert checked_rows(Ridge(), np.ones((1, 2), dtype=np.float32)).dtype == np.float32
    assert checked_rows(Ridge(), np.ones((1, 2), dtype=int)).dtype == np.float64


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_the_first_row_without_a_finite_score_is_named(kind):
    X = kind(np.array([[1.0, 0.0], [0.0, -3.0], [9.0, 0.0]]))
    scores = np.array([0.0, -np.inf, np.nan])
    message = r"X: row 1, whose largest feature has the size 3, gets the score -inf"
    with pytest.raises(NotFiniteError, match=message):
        require_finite_scores(scores, X)
    columns = np.column_stack([np.zeros(3), [0.0, 0.0, np.nan]])
    message = r"X: row 2, whose largest feature has the size 9, gets the score nan"
    with pytest.raises(NotFiniteError, match=message):
        require_finite_scores(columns, X)
    assert require_finite_scores(scores[:1], X) is not None


def test_rows_without_a_number_have_no_size():
    for X in (np.full((1, 2), np.nan), sparse.csr_matrix((1, 2)), [["a"]]):
        with pytest.raises(NotFiniteError, match=r"^X: row 0 gets the score inf, and"):
            require_finite_scores(np.array([np.inf]), X)


def test_a_quiet_function_leaves_the_state_of_other_threads():
    @quiet()
    def overflow(depth):
        return overflow(depth - 1) if depth else np.exp(1000.0)

    def call():
        for _ in range(300):
            overflow(2)
        states.append(np.geterr())

    states, interval = [], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        call()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert [state["over"] for state in states] == ["warn"] * 5


@pytest.mark.parametrize("is_nested", [False, True])
def test_numpy_warns_again_after_an_interrupt(is_nested):
    """Signals come in a product of matrices, which ends the block."""

    def interrupt(*_):
        raise KeyboardInterrupt

    def compute():
        with quiet():
            return matrix @ matrix

    if is_nested:
        compute = quiet()(compute)

    matrix, before = np.ones((300, 300)), np.geterr()
    handler = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for _ in range(50):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4)
                compute()
                while True:
                    pass
            except KeyboardInterrupt as error:
                # In a notebook, the frames of an error stay.
                kept = error
            interrupted += 1
            assert np.geterr() == before, kept
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        np.seterr(**before)
    assert interrupted == 50
