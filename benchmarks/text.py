"""Text search: skrank beside bm25s, rank_bm25 and scikit-learn, on synthetic texts.

Words follow a law of Zipf, as those of natural texts do; a document has about a
hundred. Every library makes an index of the same texts, from strings to weights of
postings, with the same rule for words and without stop words or stems, and searches the
ten best documents for the same queries of four words, again from strings. Rounds are
interleaved, so that all meet the same noise. Printed are the fastest round, the
processor time of the cheapest one, and ratios to the faster of the two kinds of bm25s.

Scores of equal formulas must be equal to 1e-12; otherwise the benchmark fails:

- bm25s, method "lucene", in float64, and BM25 over k1 + 1;
- rank_bm25, for queries whose words are in less than half of the documents, because it
  replaces negative frequencies, and ``BM25(idf="robertson")``;
- scikit-learn, with the logarithmic frequencies set, and `VectorSpace`.

Peers that are not installed are left out. Run ``python -m benchmarks.text``; ``--help``
lists the options.
"""

import argparse
import time
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.text import BM25, InvertedIndex, Tokenizer, VectorSpace

K1, B, K = 1.5, 0.75, 10
PATTERN = r"(?u)\b\w+\b"
# rank_bm25 scores every document in Python.
FEW_QUERIES = 20


@dataclass(frozen=True)
class Row:
    """Times of one library."""

    library: str
    index_seconds: float
    index_cpu_seconds: float
    queries_per_second: float
    queries_per_cpu_second: float


def make_collection(n_documents, n_queries, n_words=100_000, seed=0):
    """Documents and queries of words that follow a law of Zipf."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words: list[str] = []
    seen = set()
    while len(words) < n_words:
        word = "".join(rng.choice(letters, rng.integers(3, 10)))
        if word not in seen:
            seen.add(word)
            words.append(word)
    vocabulary = np.array(words, dtype=object)
    p = 1 / np.arange(1, n_words + 1)
    p /= p.sum()
    sizes = rng.integers(60, 140, n_documents)
    drawn = vocabulary[rng.choice(n_words, sizes.sum(), p=p)]
    documents = [" ".join(part) for part in np.split(drawn, np.cumsum(sizes)[:-1])]
    asked = vocabulary[rng.choice(n_words, (n_queries, 4), p=p)]
    return documents, [" ".join(words) for words in asked]


class Skrank:
    """The library itself."""

    def index(self, documents):
        tokenizer = Tokenizer(split_identifiers=False, stop_words=None, stemmer=None)
        self.model = BM25(k1=K1, b=B).fit(InvertedIndex(tokenizer).fit(documents))

    def search(self, queries):
        return self.model.retrieve(queries, K)


class Bm25s:
    """bm25s, with the backend that is asked for."""

    def __init__(self, backend, dtype="float32"):
        import bm25s

        self.library, self.backend, self.dtype = bm25s, backend, dtype

    def _tokens(self, texts):
        return self.library.tokenize(
            texts, token_pattern=PATTERN, stopwords=None, show_progress=False
        )

    def index(self, documents):
        self.model = self.library.BM25(
            k1=K1, b=B, method="lucene", backend=self.backend, dtype=self.dtype
        )
        self.model.index(self._tokens(documents), show_progress=False)

    def search(self, queries):
        return self.model.retrieve(self._tokens(queries), k=K, show_progress=False)


class RankBm25:
    """rank_bm25, which keeps a dictionary for each document."""

    def __init__(self):
        import rank_bm25

        self.library = rank_bm25

    def index(self, documents):
        self.model = self.library.BM25Okapi([d.split() for d in documents], k1=K1, b=B)

    def search(self, queries):
        scores = np.array([self.model.get_scores(q.split()) for q in queries])
        return np.argsort(-scores, axis=1)[:, :K]


class ScikitLearn:
    """TF-IDF vectors, and their products in blocks."""

    def index(self, documents):
        self.vectorizer = TfidfVectorizer(token_pattern=PATTERN)
        self.X = self.vectorizer.fit_transform(documents).T.tocsr()

    def search(self, queries, block=100):
        for start in range(0, len(queries), block):
            Q = self.vectorizer.transform(queries[start : start + block])
            scores = (Q @ self.X).toarray()
            best = np.argpartition(-scores, K, axis=1)[:, :K]
            order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
            np.take_along_axis(best, order, axis=1)


def libraries():
    """Return a maker of each library that is installed, and whether it is slow."""
    found = {"skrank": (Skrank, False)}
    for name, make, slow in [
        ("bm25s, numba", partial(Bm25s, "numba"), False),
        ("bm25s, numpy", partial(Bm25s, "numpy"), False),
        ("rank_bm25", RankBm25, True),
        ("scikit-learn TF-IDF", ScikitLearn, False),
    ]:
        try:
            make()
        except ImportError:
            continue
        found[name] = (make, slow)
    return found


def _seconds(function, *arguments):
    start, cpu = time.perf_counter(), time.process_time()
    function(*arguments)
    return time.perf_counter() - start, time.process_time() - cpu


def measure(documents, queries, rounds):
    """Times of every library, interleaved."""
    makers = libraries()
    times = {name: ([], []) for name in makers}
    models = {}
    for i in range(rounds):
        for name, (make, slow) in makers.items():
            some = queries[:FEW_QUERIES] if slow else queries
            # Indices of peers take seconds, where rounds differ by little.
            if i < 2:
                models[name] = make()
                times[name][0].append(_seconds(models[name].index, documents))
                models[name].search(some[:2])  # numba compiles now
            seconds = _seconds(models[name].search, some)
            times[name][1].append([len(some) / max(s, 1e-9) for s in seconds])
    return [
        Row(name, *np.min(index, axis=0).tolist(), *np.max(search, axis=0).tolist())
        for name, (index, search) in times.items()
    ]


def _check_equal(name, ours, theirs):
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    print(f"scores of {name}: largest relative difference {difference:.1e}")
    if not difference <= 1e-12:
        raise AssertionError(f"scores differ from those of {name}")


def check_parity(documents, queries):
    """Fail if equal formulas do not give equal scores."""
    tokenizer = Tokenizer(split_identifiers=False, stop_words=None, stemmer=None)
    index = InvertedIndex(tokenizer).fit(documents)
    installed = libraries()
    if "bm25s, numpy" in installed:
        peer = Bm25s("numpy", "float64")
        peer.index(documents)
        scores = [peer.model.get_scores(q.split()) for q in queries]
        ours = BM25(k1=K1, b=B).fit(index).score(queries) / (K1 + 1)
        _check_equal("bm25s", ours, np.array(scores))
    if "rank_bm25" in installed:
        peer = RankBm25()
        peer.index(documents)
        frequency = index.postings().document_frequency
        common = frequency >= len(documents) / 2
        number_of = index.vocabulary_
        known = [[t for t in q.split() if t in number_of] for q in queries]
        rare = [" ".join(q) for q in known if not any(common[number_of[t]] for t in q)]
        scores = [peer.model.get_scores(q.split()) for q in rare]
        ours = BM25(k1=K1, b=B, idf="robertson").fit(index).score(rare)
        _check_equal(f"rank_bm25, {len(rare)} queries", ours, np.array(scores))
    vectorizer = TfidfVectorizer(token_pattern=PATTERN).fit(documents)
    frequency = index.postings().document_frequency
    vectorizer.idf_ = np.log(len(documents) / frequency)
    theirs = vectorizer.transform(queries) @ vectorizer.transform(documents).T
    ours = VectorSpace().fit(index).score(queries)
    _check_equal("scikit-learn", ours, theirs.toarray())


def print_table(rows):
    """Print an aligned table with ratios to the fastest of bm25s."""
    peers = [row for row in rows if row.library.startswith("bm25s")] or rows
    index = min(row.index_seconds for row in peers)
    speed = max(row.queries_per_second for row in peers)
    print(f"{'library':20} index s  cpu s  x bm25s  queries/s  per cpu s  x bm25s")
    for row in rows:
        print(
            f"{row.library:20} {row.index_seconds:7.2f}  {row.index_cpu_seconds:5.2f}  "
            f"{index / row.index_seconds:7.1f}  {row.queries_per_second:9.0f}  "
            f"{row.queries_per_cpu_second:9.0f}  {row.queries_per_second / speed:7.2f}"
        )


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    add_outputs(parser)
    options = parser.parse_args()
    documents, queries = make_collection(options.documents, options.queries)
    check_parity(documents[:2_000], queries[:100])
    rows = measure(documents, queries, options.rounds)
    print_table(rows)
    record = {"documents": len(documents), "libraries": [asdict(row) for row in rows]}
    panels = [
        Panel("seconds to index", {row.library: row.index_seconds for row in rows}),
        Panel("queries/s", {row.library: row.queries_per_second for row in rows}),
    ]
    write_outputs(options, record, lambda: bar_figure(panels))


if __name__ == "__main__":
    main()
