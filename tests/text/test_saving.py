"""Model files of text objects: exact, small, and harmless if they were edited."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from _tamper import edited_files, is_fitted, read, write
from fuzz._mutate import mutate
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import skrank.text
from skrank.export import load_model, save_model
from skrank.text import (
    BM25,
    LSI,
    RM3,
    BooleanModel,
    InvertedIndex,
    LetorFeatures,
    LMDirichlet,
    PairFeatures,
    ProximityFeatures,
    TextCollection,
    Tokenizer,
)
from skrank.text._saving import FittedToIndex, join_terms

DOCUMENTS = {
    "title": ["sort rows", "", "tree of Ökonomie", "sort sort tree"],
    "body": ["the order of rows 中文", "invert a matrix", "", "row " * 300],
}
QUERIES = ["sort rows", "tree", "unknown"]
PAIRS = [0, 1, 2], [3, 2, 0]


def variants():
    """All text estimators with all their options, but without functions."""
    for name in skrank.text.__all__:
        cls = getattr(skrank.text, name)
        if name.startswith("Base") or not hasattr(cls, "_variants"):
            continue
        if issubclass(cls, skrank.text.BaseLinkModel):  # fitted to links, not texts
            continue
        for variant in cls._variants():
            if not any(
                callable(value) and not isinstance(value, Tokenizer)
                for value in variant.values()
            ):
                yield cls(**variant)


def results(model):
    """Everything that a fitted text object computes."""
    if isinstance(model, Tokenizer):
        return [model.tokenize_all(QUERIES)]
    if isinstance(model, InvertedIndex):
        postings = [model.postings(f) for f in (*model.fields_, None)]
        parts = [getattr(p.counts, a) for p in postings for a in ("data", "indices")]
        parts += [p.positions for p in postings if p.positions is not None]
        ids = None if model.ids_ is None else model.ids_.tolist()
        return [list(model.vocabulary_.items()), model.n_documents_, ids, *parts]
    if isinstance(model, RM3):
        return [list(query.items()) for query in model.expand(QUERIES)]
    if isinstance(model, PairFeatures):
        texts = ["sort tree", "", "new row", "tree"]
        rows = dict.fromkeys((*model.index_.fields_, model.query), texts)
        return [model.get_feature_names_out().tolist(), model.transform(rows)]
    if isinstance(model, LetorFeatures | ProximityFeatures):
        return [model.feature_names_, model.extract(QUERIES, *PAIRS)]
    if isinstance(model, BooleanModel):
        return model.search([*QUERIES, "NOT tree", '"sort rows"'])
    found = model.retrieve(QUERIES, 3)
    return [model.score(QUERIES), model.score_pairs(QUERIES, *PAIRS), *found]


def assert_same(one, other):
    """Equal to the bit, and of the same types."""
    assert len(one) == len(other)
    for a, b in zip(one, other):
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
        else:
            assert a == b


@pytest.mark.parametrize("model", list(variants()), ids=str)
def test_every_text_object_round_trips_exactly(model, tmp_path):
    path = tmp_path / "text.skrank"
    save_model(model, path)
    assert repr(load_model(path)) == repr(model)
    if hasattr(model, "fit"):
        model = clone(model).fit(DOCUMENTS)
    save_model(model, path)
    loaded = load_model(path)
    assert type(loaded) is type(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert_same(results(loaded), results(model))
    content = path.read_bytes()
    save_model(loaded, path)
    assert path.read_bytes() == content
    save_model(pickle.loads(pickle.dumps(model)), path)
    assert path.read_bytes() == content


def test_fields_pipelines_and_shared_indices(tmp_path):
    path = tmp_path / "text.skrank"
    pipeline = Pipeline([("model", BM25(field="title"))]).fit(DOCUMENTS)
    save_model(pipeline, path)
    loaded = load_model(path)
    assert_same(results(loaded[-1]), results(pipeline[-1]))
    features = LetorFeatures(models={"dir": LMDirichlet(mu=3)}).fit(DOCUMENTS)
    save_model(features, path)
    loaded = load_model(path)
    # One index for all, not one for each model.
    models = [m for models in loaded.models_.values() for m in models.values()]
    assert all(model.index_ is loaded.index_ for model in models)
    assert sum(name.endswith(".npy") for name in read(path)[1]) == 9


def test_an_index_keeps_the_ids_of_its_documents(tmp_path):
    path = tmp_path / "text.skrank"
    ids = ["b", "", "Ö \ud800", "a"]
    index = InvertedIndex().fit(TextCollection(ids, DOCUMENTS))
    for model in (index, BM25().fit(index)):
        save_model(model, path)
        loaded = load_model(path)
        assert_same(results(loaded), results(model))
    assert loaded.index_.ids_.tolist() == ids
    assert loaded.index_.ids_.dtype == object


def test_files_of_an_index_without_ids_are_read(tmp_path):
    # As earlier releases wrote them: nothing in them speaks of ids.
    index = InvertedIndex(str.split).fit(["a b", "b b"])
    assert not {"ids", "id_lengths", "ids_"} & parts(index).keys()
    restored = InvertedIndex()
    vars(restored).update(parts(index))
    restored._restore_state()
    assert restored.ids_ is None


@pytest.mark.parametrize(
    "texts", [[""], ["", "the"], ["a\0b c", "\ud800 x"], ["b a\nb"]], ids=repr
)
def test_odd_terms_and_empty_collections(texts, tmp_path):
    path = tmp_path / "text.skrank"
    odd = InvertedIndex(tokenizer=lambda text: text.split(" ")).fit(
        [*texts, "", "", ""]
    )
    odd.tokenizer = None  # a function has no safe form
    for model in (odd, BM25().fit(odd), LetorFeatures().fit(odd)):
        save_model(model, path)
        assert_same(results(load_model(path)), results(model))


def test_what_does_not_follow_from_the_index_is_not_saved(tmp_path):
    path = tmp_path / "text.skrank"
    with pytest.raises(TypeError, match="BM25 cannot be saved: weights_ is not what"):
        save_model(BM25().fit(DOCUMENTS).set_params(k1=3), path)
    features = LetorFeatures().fit(DOCUMENTS)
    features.models_["title"]["bm25"].weights_[0] += 1
    with pytest.raises(TypeError, match="LetorFeatures cannot be saved: models_ is"):
        save_model(features, path)
    index = InvertedIndex().fit(DOCUMENTS)
    index.vocabulary_["zebra"] = 99
    with pytest.raises(TypeError, match="InvertedIndex cannot be saved: vocabulary_"):
        save_model(index, path)
    with pytest.raises(TypeError, match=r"index_\.tokenizer cannot be saved: .*funct"):
        save_model(BM25(tokenizer=None).fit(InvertedIndex(str.split).fit(["a"])), path)
    assert not path.exists()


def i4(*values):
    return np.array(values, dtype=np.int32)


def saved_ids(*ids):
    """Ids of documents as files hold them."""
    return dict(zip(("ids", "id_lengths"), join_terms(list(ids))))


def parts(index):
    """The attributes of an index in a file."""
    return copy.copy(index._saved_state())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terms": np.frombuffer(b"abc", np.uint8)}, "lengths of the terms do not sum"),
        ({"terms": np.array([255], np.uint8)}, "can't decode byte"),
        ({"terms": np.zeros((1, 1))}, "terms must be stored in an array of uint8"),
        ({"term_lengths": [1]}, "terms must be stored in an array of uint32"),
        ({"terms": np.frombuffer(b"ba", np.uint8)}, "the terms .* must ascend"),
        ({"terms": np.frombuffer(b"aa", np.uint8)}, "the terms .* must ascend"),
        ({"lengths": np.array([2.0, 3.0])}, "the lengths of the documents are not"),
        ({"lengths": np.zeros(3)}, r"csc_array of shape \(3, 2\)"),
        ({"lengths": None}, "len"),
        ({"fields_": ("a", "b")}, "must have counts for each of its fields"),
        ({"fields_": ()}, r"fields_ must be different strings, got \(\)"),
        ({"fields_": "text"}, "fields_ must be different strings, got 'text'"),
        ({"counts": [sparse.csc_array((2, 3))]}, r"csc_array of shape \(2, 2\)"),
        ({"counts": [sparse.csr_array((2, 2))]}, r"csc_array of shape \(2, 2\)"),
        ({"counts": [-sparse.csc_array(np.eye(2))]}, "counts must be numbers > 0"),
        ({"counts": [sparse.csc_array(2.0**54 * np.eye(2))]}, "counts must be numbers"),
        ({"counts": None}, "must have counts for each of its fields"),
        ({"positions": []}, "must have positions for each of its fields"),
        ({"positions": [np.zeros(4)]}, "positions must be an array of int32"),
        ({"positions": [i4(0, 0, 1)]}, "positions must be one for each of 4 terms"),
        ({"positions": [i4(0, 0, 1, 1)]}, "must number the terms of each document"),
        ({"positions": [i4(0, 1, 1, 0)]}, "must number the terms of each document"),
        ({"positions": [i4(0, 1, 0, 9)]}, "must number the terms of each document"),
        ({"positions": [i4(0, 1, 0, -1)]}, "must number the terms of each document"),
        ({"ids": np.frombuffer(b"ab", np.uint8)}, "stored in an array of uint32"),
        (saved_ids("a"), "the ids of 2 documents must be as many, and differ"),
        (saved_ids("a", "a"), "the ids of 2 documents must be as many, and differ"),
        (saved_ids("a", "b") | {"id_lengths": None}, "stored in an array of uint32"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(change, message):
    index = InvertedIndex(str.split, with_positions=True).fit(["a b", "b b"])
    restored = InvertedIndex()
    vars(restored).update(parts(index))
    restored._restore_state()
    assert_same(results(restored), results(index))
    broken = InvertedIndex()
    vars(broken).update(parts(index) | change)
    with pytest.raises((ValueError, TypeError), match=message):
        broken._restore_state()


def verdict(path):
    """Return "" for a file that is refused or works, otherwise what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the model was written by")
        try:
            model = load_model(path)
        except ValueError as error:
            return "" if len(str(error).split()) > 3 else f"no sentence: {error}"
        if not is_fitted(model):
            return ""
        try:
            found = results(model)
        except (ValueError, TypeError) as error:  # one document, one field less
            return "" if "must" in str(error) else repr(error)
    numbers = [a for a in found if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    finite = all(not np.isnan(a).any() for a in numbers)
    return "" if finite else "results that are not numbers"


@pytest.mark.parametrize(
    "model",
    [
        InvertedIndex(),
        BM25(),
        LSI(n_components=2),
        ProximityFeatures(),
        LetorFeatures(models={"a": BM25()}),
        RM3(model=BM25()),
        PairFeatures(models={"a": BM25()}),
    ],
    ids=str,
)
def test_edited_and_damaged_files_are_refused_or_work(model, tmp_path):
    path = tmp_path / "text.skrank"
    index = InvertedIndex(with_positions=True)
    index.fit(TextCollection(list("abcd"), DOCUMENTS))
    save_model(index if isinstance(model, InvertedIndex) else model.fit(index), path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    assert not verdict(path)
    files = list(edited_files(*read(path)))
    wrong = []
    for i in rng.choice(len(files), size=60, replace=False):
        what, document, members = files[i]
        write(path, document, members)
        wrong += [f"{what}: {problem}" for problem in [verdict(path)] if problem]
    for _ in range(60):
        path.write_bytes(mutate(content, (), rng))
        wrong += [problem for problem in [verdict(path)] if problem]
    assert not wrong


SHARING = [model for model in variants() if isinstance(model, FittedToIndex)]


@pytest.mark.parametrize("model", SHARING, ids=repr)
def test_an_index_that_is_fitted_again_is_told(model, tmp_path):
    index = InvertedIndex(with_positions=True).fit(DOCUMENTS)
    model = clone(model).fit(index)
    index.postings()  # counts of whole documents are made when they are asked for
    expected = results(model)
    for other in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_same(results(other), expected)
    other = {**DOCUMENTS, "title": DOCUMENTS["title"][::-1]}
    index.fit(other)
    message = f"index_ was fitted again after this {type(model).__name__}, which has"
    with pytest.raises(ValueError, match=message):
        results(model)
    with pytest.raises(TypeError, match=r"cannot be saved: \w+ is not what fit learns"):
        save_model(model, tmp_path / "model.skrank")
    assert_same(results(model.fit(index)), results(clone(model).fit(other)))


def test_parameters_that_were_changed_after_fit_are_not_saved(tmp_path):
    for model, other in (
        (LSI(n_components=2), {"sublinear_tf": True}),
        (BM25(), {"k1": 9.0}),
    ):
        model.fit(DOCUMENTS).set_params(**other)
        with pytest.raises(TypeError, match=r"cannot be saved: \w+ is not what fit"):
            save_model(model, tmp_path / "model.skrank")


def test_extractors_and_expansions_tell_it_call_by_call():
    index = InvertedIndex(with_positions=True).fit(DOCUMENTS)
    bm25, boolean, expander = (
        model.fit(index) for model in (BM25(), BooleanModel(), RM3())
    )
    index.fit(DOCUMENTS)  # the same ones, but nobody can know
    for call in (
        lambda: bm25.score(QUERIES),
        lambda: bm25.score_pairs(QUERIES, *PAIRS),
        lambda: bm25.retrieve(QUERIES, 2),
        lambda: boolean.search(QUERIES),
        lambda: boolean.score(QUERIES),
        lambda: boolean.score_pairs(QUERIES, *PAIRS),
        lambda: expander.expand(QUERIES),
    ):
        with pytest.raises(ValueError, match="index_ was fitted again after this"):
            call()


@pytest.mark.parametrize("model", [BM25(), LSI(n_components=2)], ids=repr)
def test_weights_that_are_not_those_of_fit_are_not_saved(model, tmp_path):
    model.fit(InvertedIndex().fit(DOCUMENTS))
    save_model(model, tmp_path / "model.skrank")
    other = copy.deepcopy(model)
    other.weights_ = 2 * other.weights_
    del model.weights_
    for wrong in (other, model):
        with pytest.raises(TypeError, match="weights_ is not what fit learns"):
            save_model(wrong, tmp_path / "model.skrank")
