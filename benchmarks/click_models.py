"""Models of clicks beside those of the clickmodels package, in one run.

A log is drawn at random: every session shows ten documents of one of its queries, and
clicks fall off with the rank. Both sides fit a user browsing model by the same number
of steps of expectation maximisation, in turn, and the ratio compares the least time of
each; the sessions are already in the form that either side reads. The estimates of both
are compared, too.

The peer was written for Python 2. Run it from an environment of its own::

    python3 -m venv /tmp/peer
    /tmp/peer/bin/pip install clickmodels
    (cd /tmp/peer/lib/python3*/site-packages && python3.11 -m lib2to3 -w -n clickmodels)
    python -m benchmarks.click_models --peer /tmp/peer/bin/python

Without ``--peer``, the times of all models of this package are printed alone.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank.click import (
    BayesianBrowsingModel,
    CascadeModel,
    ClickChainModel,
    DependentClickModel,
    DynamicBayesianNetwork,
    PositionBasedModel,
    Sessions,
    SimplifiedDynamicBayesianNetwork,
    UserBrowsingModel,
)

LONGEST = 10
MODELS = (
    CascadeModel,
    DependentClickModel,
    SimplifiedDynamicBayesianNetwork,
    BayesianBrowsingModel,
    ClickChainModel,
    PositionBasedModel,
    UserBrowsingModel,
    DynamicBayesianNetwork,
)

# Reads a log, waits for a line, fits the model, and writes times and estimates.
PEER = """
import contextlib, io, json, sys, time
from clickmodels.inference import DbnModel, UbmModel
from clickmodels.input_reader import SessionItem
log = json.load(open(sys.argv[1]))
layout = [False] * 11
sessions = [
    SessionItem(0.0, q, d, layout, c, {})
    for q, d, c in zip(log["query"], log["document"], log["click"])
]
config = {"MAX_QUERY_ID": log["n_queries"], "MAX_ITERATIONS": log["n_steps"],
          "MAX_DOCS_PER_QUERY": 10, "PRETTY_LOG": True, "DEBUG": False}
for line in sys.stdin:
    if line.strip() == "ubm":
        model = UbmModel(config=config)
    else:
        model = DbnModel((0.9,) * 4, config=config)
    start, spent = time.perf_counter(), time.process_time()
    with contextlib.redirect_stderr(io.StringIO()):
        model.train(sessions)
    times = time.perf_counter() - start, time.process_time() - spent
    if line.strip() == "ubm":
        table = [list(a.items()) for a in model.alpha[False]]
    else:
        table = [[(d, [v["a"], v["s"]]) for d, v in a.items()]
                 for a in model.urlRelevances[False]]
    print(json.dumps({"times": times, "table": table}), flush=True)
"""


def make_log(n_sessions: int, n_queries: int, n_documents: int) -> Sessions:
    """Draw a log of lists of ten documents."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, n_queries, n_sessions)
    documents = np.argsort(rng.random((n_sessions, n_documents)))[:, :LONGEST]
    appeal = rng.uniform(0.05, 0.9, (n_queries, n_documents))
    chance = appeal[query[:, None], documents] / np.arange(1, LONGEST + 1) ** 0.7
    clicks = (rng.random(documents.shape) < chance).astype(np.uint8)
    ptr = np.arange(n_sessions + 1) * LONGEST
    ids = np.arange(n_queries), np.arange(n_documents)
    return Sessions(query, documents.ravel(), clicks.ravel(), ptr, *ids)


def timed(model, sessions: Sessions) -> tuple[float, float]:
    """Return the seconds, and those of the processor, of one fit."""
    fresh = sessions[:]  # nothing has been computed of it
    start, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(fresh)
    return time.perf_counter() - start, time.process_time() - spent


def time_alone(sessions: Sessions, n_steps: int, n_rounds: int, n_jobs) -> None:
    """Print the times of all models."""
    for cls in MODELS:
        model = cls(n_jobs=n_jobs)
        if "max_iter" in model.get_params():
            model.set_params(max_iter=n_steps, tol=0)
        least = min(timed(model, sessions)[0] for _ in range(n_rounds))
        print(f"{cls.__name__:34} {1000 * least:8.1f} ms")


def compare(sessions: Sessions, options: argparse.Namespace) -> None:
    """Print the ratio of times, and the largest difference of estimates."""
    log = {
        "query": sessions.query.tolist(),
        "document": sessions.document.reshape(-1, LONGEST).tolist(),
        "click": sessions.click.reshape(-1, LONGEST).tolist(),
        "n_queries": len(sessions.query_ids),
        "n_steps": options.steps,
    }
    contests = {
        "ubm": UserBrowsingModel(max_iter=options.steps, tol=0, n_jobs=options.jobs),
        "dbn": DynamicBayesianNetwork(
            gamma=0.9, max_iter=options.steps, tol=0, n_jobs=options.jobs
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        path.write_text(json.dumps(log), encoding="utf-8")
        with subprocess.Popen(
            [options.peer, "-c", PEER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as peer:
            for name, model in contests.items():
                _contest(name, model, sessions, peer, options.rounds)
            peer.stdin.close()


def _contest(name, model, sessions, peer, n_rounds) -> None:
    own, others = [], []
    for _ in range(n_rounds):
        peer.stdin.write(name + "\n")
        peer.stdin.flush()
        answer = json.loads(peer.stdout.readline())
        others.append(answer["times"])
        own += [timed(model, sessions) for _ in range(5)]
    (ours, our_cpu), (theirs, their_cpu) = (
        np.min(times, axis=0) for times in (own, others)
    )
    print(
        f"{name}: {1000 * ours:.1f} ms, clickmodels {1000 * theirs:.0f} ms, ratio "
        f"{theirs / ours:.0f} (of processor times {their_cpu / our_cpu:.0f})"
    )
    table = model.relevance_table()
    found = [v for k, v in table.items() if k not in ("query", "document", "relevance")]
    found = np.stack(found or [table["relevance"]], axis=1)
    known = [{int(d): v for d, v in row} for row in answer["table"]]
    pairs = zip(table["query"], table["document"])
    peers = np.array([np.atleast_1d(known[int(q)][int(d)]) for q, d in pairs])
    print(f"{name}: largest difference of estimates {np.abs(found - peers).max():.1e}")


def main(argv: list[str] | None = None) -> None:
    """Draw a log, and print times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="Python with the clickmodels package")
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, help="threads; all CPUs by default")
    options = parser.parse_args(argv)
    if options.documents < LONGEST:
        parser.error(f"--documents must be at least {LONGEST}")
    sessions = make_log(options.sessions, options.queries, options.documents)
    if options.peer:
        compare(sessions, options)
    time_alone(sessions, options.steps, options.rounds, options.jobs)


if __name__ == "__main__":
    main()
