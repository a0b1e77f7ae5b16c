"""``skrank predict``: one score per line."""

from skrank.cli._io import check_writable, read_letor, write_lines
from skrank.cli._models import n_features_of_model, predict_scores
from skrank.export import load_model


def run(args):
    """Score the documents of a file."""
    check_writable(args.output)
    _, _, scores = scored(args)
    write_lines(map(repr, scores.tolist()), args.output)


def scored(args):
    """Model, documents and scores that the arguments name."""
    model = load_model(args.model)
    data = read_letor(args.data, n_features_of_model(model), n_jobs=args.jobs)
    return model, data, predict_scores(model, data)
