"""Documents and queries in every form in which users may hold them."""

import numpy as np
import pandas as pd
import pytest

from skrank.text import BM25, InvertedIndex, LetorFeatures, Postings, Tokenizer

TEXTS = ["sort rows", "", "the matrix"]
FRAME = pd.DataFrame(
    {"title": TEXTS, "body": ["rows", "of a", "tree"]}, index=[7, 7, 2]
)

TAKEN = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS),
    "object array": np.array(TEXTS, dtype=object),
    "series": pd.Series(TEXTS, index=[3, 1, 1]),
    "nullable series": pd.Series(TEXTS, dtype="string"),
    "categories": pd.Series(TEXTS, dtype="category"),
    "index": pd.Index(TEXTS),
    "keys": dict.fromkeys(TEXTS).keys(),
    "values": dict(enumerate(TEXTS)).values(),
}

REFUSED = {
    "one string": ("sort rows", "got one string"),
    "NumPy string": (np.str_("sort"), "got one string"),
    "bytes": (b"sort rows", "got bytes; decode them first"),
    "set": ({"sort", "rows"}, "got a set, which has no order"),
    "None": (None, "got None"),
    "number": (3, "got 3"),
    "class": (BM25, "got <class"),
    "model": (BM25(), r"got BM25\(\)"),
    "no dimension": (np.array("sort"), "got an array of 0 dimensions"),
    "matrix": (np.array([TEXTS]), "got an array of 2 dimensions"),
    "byte strings": (np.array([b"sort"]), "item 0 is bytes; decode them first"),
    "lists": ([["sort"], ["rows"]], "item 0 is of type list"),
    "a None": (["sort", None], r"item 1 is missing \(None\); put an empty string"),
    "a NaN": (["sort", np.nan], r"item 1 is missing \(nan\); put an empty string"),
    "a NA": (pd.Series(["sort", None], dtype="string"), r"item 1 is missing \(<NA>\)"),
    "a NaT": (["sort", pd.NaT], r"item 1 is missing \(NaT\)"),
    "a number": (np.array(["sort", 1], dtype=object), "item 1 is of type int"),
}


@pytest.mark.parametrize("kind", [*TAKEN, "generator"])
def test_texts_of_every_kind_are_the_same_texts(kind):
    def texts():
        return TAKEN.get(kind, (text for text in TEXTS))

    index = InvertedIndex().fit(texts())
    assert index.fields_ == ("text",)
    np.testing.assert_array_equal(
        index.postings().counts.toarray(),
        InvertedIndex().fit(TEXTS).postings().counts.toarray(),
    )
    assert Tokenizer().tokenize_all(texts()) == [["sort", "row"], [], ["matrix"]]
    model = BM25().fit(TEXTS)
    np.testing.assert_array_equal(model.score(texts()), model.score(TEXTS))
    pairs = [0, 2], [0, 2]
    np.testing.assert_array_equal(
        model.score_pairs(texts(), *pairs), model.score_pairs(TEXTS, *pairs)
    )
    np.testing.assert_array_equal(model.retrieve(texts(), 2), model.retrieve(TEXTS, 2))
    features = LetorFeatures().fit(texts())
    np.testing.assert_array_equal(
        features.extract(texts(), *pairs), features.extract(TEXTS, *pairs)
    )


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_sequence_of_texts_is_named(kind):
    texts, found = REFUSED[kind]
    model, features = BM25().fit(TEXTS), LetorFeatures().fit(TEXTS)
    calls = {
        "documents": [InvertedIndex().fit, BM25().fit, LetorFeatures().fit],
        "queries": [
            model.score,
            model.index_.count_queries,
            lambda texts: model.score_pairs(texts, [0], [0]),
            lambda texts: model.retrieve(texts, 1),
            lambda texts: features.extract(texts, [0], [0]),
        ],
        "texts": [Tokenizer().tokenize_all],
    }
    for name, functions in calls.items():
        for function in functions:
            with pytest.raises(TypeError, match=f"^{name} must .*{found}"):
                function(texts)
    with pytest.raises(TypeError, match=rf"^documents\['title'\] must .*{found}"):
        LetorFeatures().fit({"title": texts})


def test_columns_of_a_frame_are_fields():
    for fit in (InvertedIndex().fit, BM25().fit, LetorFeatures().fit):
        index = getattr(fit(FRAME), "index_", None) or fit(FRAME)
        assert index.fields_ == ("title", "body")
        assert index.n_documents_ == 3
    by_mapping = LetorFeatures().fit({k: list(FRAME[k]) for k in FRAME})
    by_frame = LetorFeatures().fit(FRAME)
    assert by_frame.feature_names_ == by_mapping.feature_names_
    np.testing.assert_array_equal(
        by_frame.extract(["rows"], [0, 0], [0, 1]),
        by_mapping.extract(["rows"], [0, 0], [0, 1]),
    )
    assert InvertedIndex().fit(FRAME[["body"]]).fields_ == ("body",)


def test_frames_of_other_libraries_are_frames():
    class Frame:  # as polars has it
        columns = ["title", "body"]

        def __getitem__(self, name):
            return FRAME[name].to_numpy()

    assert InvertedIndex().fit(Frame()).fields_ == ("title", "body")


def test_bad_frames_and_mappings_are_named():
    with pytest.raises(TypeError, match=r"documents\['n'\] must hold strings; item 0"):
        LetorFeatures().fit(FRAME.assign(n=1))
    with pytest.raises(ValueError, match="columns of different names"):
        LetorFeatures().fit(pd.DataFrame([["a", "b"]], columns=["t", "t"]))
    for empty in (FRAME[:0], FRAME[[]], {}, [], {"a": []}):
        with pytest.raises(ValueError, match="documents is empty"):
            LetorFeatures().fit(empty)
    with pytest.raises(TypeError, match="documents must name fields by strings, got 0"):
        InvertedIndex().fit(pd.DataFrame([["a"]]))
    with pytest.raises(TypeError, match=r"queries must be .* data frame; pass one of"):
        BM25().fit(TEXTS).score(FRAME)
    with pytest.raises(TypeError, match=r"queries must be .* got a mapping"):
        BM25().fit(TEXTS).score({"a": "b"})
    with pytest.raises(ValueError, match="documents must have no field 'whole'"):
        LetorFeatures().fit({"whole": ["a"]})


@pytest.mark.parametrize(
    ("tokenizer", "found"),
    [
        (str.upper, "'SORT ROWS'"),
        (len, "9"),
        (lambda text: None, "None"),
        (lambda text: [["a"]], r"\[\['a'\]\]"),
        (lambda text: [1], "1"),
        (Tokenizer(stemmer=len), ""),
    ],
)
def test_tokenizers_that_return_no_terms_are_named(tokenizer, found):
    for estimator in (InvertedIndex(tokenizer), BM25(tokenizer=tokenizer)):
        with pytest.raises(
            TypeError, match=f"tokenizer must return lists of strings, returned {found}"
        ):
            estimator.fit(TEXTS)


def test_tokenizers_that_change_their_mind_are_named():
    class Fickle:
        def __call__(self, text):
            return ["a"]

        def tokenize_all(self, texts):
            return [["a"]]

    with pytest.raises(ValueError, match="one list of terms for each of 3 texts"):
        InvertedIndex(Fickle()).fit(TEXTS)
    index = InvertedIndex(lambda text: [text]).fit(TEXTS)
    index.tokenizer = lambda text: [[text]]
    with pytest.raises(TypeError, match="tokenizer must return lists of strings"):
        index.count_queries(["sort"])


def test_postings_check_their_counts():
    counts = InvertedIndex().fit(TEXTS).postings().counts
    with pytest.raises(TypeError, match="must be a csc_array of float64, got csr_arr"):
        Postings(counts.tocsr())
    with pytest.raises(TypeError, match="csc_array of float64, got csc_array of int64"):
        Postings(counts.astype(np.int64))
    with pytest.raises(TypeError, match="csc_array of float64, got list"):
        Postings([[1.0]])
    for value in (0, -1, np.nan, np.inf, 1e300):
        odd = counts.copy()
        odd.data[0] = value
        with pytest.raises(ValueError, match="counts must be numbers > 0 and at most"):
            Postings(odd)
    twice = InvertedIndex().fit(["a b", "b a"]).postings().counts
    twice.indices[:2] = [1, 0]
    with pytest.raises(ValueError, match="counts must have ascending row numbers"):
        Postings(twice)
    with pytest.raises(ValueError, match="counts must have at least one row"):
        Postings(counts[:0])


def test_look_ups_check_their_numbers():
    postings = InvertedIndex().fit(TEXTS).postings()
    with pytest.raises(ValueError, match="terms must hold numbers from 0 to 2, found"):
        postings.find([3], [0])
    with pytest.raises(ValueError, match="documents must hold numbers from 0 to 2"):
        postings.find([0], [-1])
    with pytest.raises(ValueError, match="must have the same length, got 1 and 2"):
        postings.find([0], [0, 1])


def test_parameters_of_features_are_checked():
    with pytest.raises(ValueError, match="fields must be different names, at least on"):
        LetorFeatures(fields=["title", "title"]).fit(FRAME)
    with pytest.raises(ValueError, match="fields must be different names, at least on"):
        LetorFeatures(fields=[]).fit(FRAME)
    for name in ("length", 1):
        with pytest.raises(ValueError, match="models must be a mapping whose keys are"):
            LetorFeatures(models={name: BM25()}).fit(FRAME)
    for dtype in (np.int64, "U3", complex, np.float16, "word", None):
        with pytest.raises(ValueError, match="dtype must be float64 or float32, got"):
            LetorFeatures().fit(FRAME).extract(["rows"], [0], [0], dtype=dtype)


def test_stop_words_in_every_form():
    for stop_words in (["rows"], np.array(["rows"]), pd.Series(["rows"]), {"rows"}):
        assert Tokenizer(stop_words=stop_words, stemmer=None)("the rows") == ["the"]
    assert Tokenizer(stop_words=np.array([], dtype=str))("the") == ["the"]
    for stop_words in (FRAME, b"rows", [1]):
        with pytest.raises(ValueError, match=r"stop_words must be .* a Collect"):
            Tokenizer(stop_words=stop_words)("the rows")


def test_names_of_fields_are_strings():
    for field in (["text"], 3, np.array(["text"])):
        with pytest.raises(
            ValueError, match="postings: field must be a string or None"
        ):
            InvertedIndex().fit(TEXTS).postings(field)
