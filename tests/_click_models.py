"""Loops over formulas, and enumerations of hidden states, of the models of clicks."""

from itertools import product

from skrank.click import Sessions


def random_sessions(rng, n=60, n_queries=3, n_documents=8, longest=6, rate=0.4):
    """Sessions of all lengths with clicks by chance."""
    queries, lists, clicks = [], [], []
    for _ in range(n):
        m = int(rng.integers(1, min(longest, n_documents) + 1))
        queries.append(f"q{rng.integers(n_queries)}")
        lists.append([f"d{d}" for d in rng.permutation(n_documents)[:m]])
        clicks.append((rng.random(m) < rate).astype(int).tolist())
    return Sessions.from_lists(queries, lists, clicks)


def all_clicks(documents, query="q"):
    """One session for every combination of clicks on a list."""
    combinations = list(product([0, 1], repeat=len(documents)))
    n = len(combinations)
    return Sessions.from_lists([query] * n, [documents] * n, combinations)


def chain_probability(clicks, attraction, after_skip, after_click):
    """Probability of clicks, summed over all places where the user may stop."""
    m, total = len(clicks), 0.0
    for examined in range(1, m + 1):  # the user looks at so many documents
        p = 1.0
        for i in range(m):
            if i >= examined:
                p *= not clicks[i]
                continue
            p *= attraction[i] if clicks[i] else 1 - attraction[i]
            on = after_click[i] if clicks[i] else after_skip[i]
            if i + 1 < m:
                p *= on if i + 1 < examined else 1 - on
        total += p
    return total


def browsing_probability(clicks, attraction, examination):
    """Probability of clicks, summed over which documents attract and are examined."""
    total = 0.0
    m = len(clicks)
    for states in product([0, 1], repeat=2 * m):
        p, last = 1.0, 0
        for i in range(m):
            attracted, examined = states[2 * i], states[2 * i + 1]
            g = examination(i + 1, last)
            p *= attraction[i] if attracted else 1 - attraction[i]
            p *= g if examined else 1 - g
            p *= (attracted and examined) == clicks[i]
            if clicks[i]:
                last = i + 1
        total += p
    return total


def rows(sessions):
    """Query, documents and clicks of each session."""
    for s, (start, stop) in enumerate(zip(sessions.ptr, sessions.ptr[1:])):
        yield (
            sessions.query_ids[sessions.query[s]],
            sessions.document_ids[sessions.document[start:stop]].tolist(),
            sessions.click[start:stop].tolist(),
        )
