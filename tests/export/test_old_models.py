"""Model files written before classes were renamed load and predict as they did."""

import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from skrank.export import _decode, _renamed, load_model, save_model
from skrank.export._allowed import class_of_name
from skrank.rankers import RankSVM

FOLDER = Path(__file__).parent / "old_models"

ROWS = np.array(
    [
        [-0.06, -0.11, 1.37],
        [-0.1, -2.43, -0.45],
        [-0.47, 0.97, -1.28],
        [1.44, -0.08, 1.09],
        [0.1, 1.42, 1.17],
        [0.95, 1.09, 2.38],
    ]
)

# What the models predicted for these rows in the version that wrote the files: 0.1.0,
# with the losses RankNetLoss, PairwiseHingeLoss, PairwiseSquaredHingeLoss and
# SmoothedHingeLoss, fitted on make_ranking(n_queries=8, n_features=3, n_informative=2,
# random_state=0) with X rounded to two digits.
PREDICTED = {
    "lambdamart": [
        -0.17834597467748253,
        0.1897008097643584,
        -0.17834597467748253,
        -0.17834597467748253,
        -0.17834597467748253,
        -0.17834597467748253,
    ],
    "log": [
        0.6283593481570137,
        5.212677016066846,
        -3.0768015089806338,
        2.01247891149353,
        -2.7101719884648734,
        -0.7036173922081126,
    ],
    "logistic": [
        0.10463307552097934,
        2.9990020029549935,
        -2.7347352663219757,
        0.9305444116207229,
        -2.2043212181693566,
        -0.7294321135567445,
    ],
    "ranknet": [
        1.3983804133696607,
        2.424483841361489e-11,
        -0.3486989061317636,
        2.7187361207054797,
        1.9442610290682742,
        4.2599512365202745,
    ],
    "ranksvm_linear": [
        0.5689458197233694,
        3.9337696847673023,
        -2.395342099573319,
        1.5258177992560689,
        -1.9869951809641648,
        -0.4280383237030938,
    ],
    "ranksvm_squared": [
        0.07962807171616415,
        0.8735423137224582,
        -0.5688764317378715,
        0.30720116706738754,
        -0.5035715203860904,
        -0.15827333768356816,
    ],
    "sampled_pairs": [
        -0.5230996854458813,
        2.446899926335549,
        -0.269118636725748,
        -0.5335678303847567,
        -1.8491639619772688,
        -2.1642537670860404,
    ],
    "smoothed_hinge": [
        0.36383413013489,
        2.9106939610754754,
        -1.727905869144918,
        1.1242192658396717,
        -1.5053813144634247,
        -0.3791329954522147,
    ],
}

# Parameters of the loss, which must survive the change of its class.
LOSSES = {
    "ranknet": {"sigma": 2.0},
    "ranksvm_linear": {"margin": 1.0},
    "ranksvm_squared": {"margin": 0.5},
    "smoothed_hinge": {"margin": 1.0, "width": 0.5},
}


def load(path):
    """Load without the warning about the version, which is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the model was written by", UserWarning)
        return load_model(path)


def test_every_stored_file_is_tested():
    assert {path.stem for path in FOLDER.glob("*.skrank")} == set(PREDICTED)


@pytest.mark.parametrize("name", sorted(PREDICTED))
def test_stored_files_predict_as_they_did(name):
    model = load(FOLDER / f"{name}.skrank")
    # Not to the last bit: BLAS may add the products in another order elsewhere.
    np.testing.assert_allclose(model.predict(ROWS), PREDICTED[name], rtol=1e-12)


def test_boosting_goes_on_from_stored_files(rng):
    names = [name for name in sorted(PREDICTED) if name in ("lambdamart", "mart")]
    assert names
    for name in names:
        model = load(FOLDER / f"{name}.skrank")
        X = rng.normal(size=(100, model.n_features_in_))
        y, groups = rng.integers(0, 3, 100), np.repeat(np.arange(10), 10)
        n_trees = model.ensemble_.n_trees
        model.set_params(warm_start=True, n_estimators=model.n_estimators + 2)
        model.fit(X, y, groups)
        assert model.ensemble_.n_trees == n_trees + 2
        assert model.hessian_unit_ == 1.0
        assert model.learning_rate_ == model.learning_rate


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_parameters_of_the_loss_survive(name):
    model = load(FOLDER / f"{name}.skrank")
    ranker = model[-1] if hasattr(model, "steps") else model
    assert LOSSES[name].items() <= ranker.loss_.get_params().items()


@pytest.mark.parametrize("name", sorted(PREDICTED))
def test_what_was_loaded_is_written_under_present_names(name, tmp_path):
    model = load(FOLDER / f"{name}.skrank")
    save_model(model, tmp_path / "again.skrank")
    loaded = load_model(tmp_path / "again.skrank")
    np.testing.assert_array_equal(loaded.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize("old", sorted(_renamed.RENAMED))
def test_the_new_name_of_a_class_is_allowed(old):
    assert class_of_name(_renamed.current_name(old)) is not None


def edited(path, change):
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(contents["model.json"])
    change(document)
    contents["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def test_a_renamed_class_is_found(monkeypatch, tmp_path):
    new = {"skrank.rankers.OldSVM": "skrank.rankers.RankSVM"}
    monkeypatch.setattr(_decode, "current_name", lambda name: new.get(name, name))
    path = tmp_path / "model.skrank"
    save_model(RankSVM(margin=2.0), path)
    change = {"class": "skrank.rankers.OldSVM"}
    edited(path, lambda document: document["model"].update(change))
    loaded = load_model(path)
    assert type(loaded) is RankSVM
    assert loaded.margin == 2.0


def test_parameters_that_are_newer_than_the_file_get_their_defaults(tmp_path):
    def as_before(document):
        document["format_version"] = 1
        document["model"]["params"].pop("margin")

    path = tmp_path / "model.skrank"
    save_model(RankSVM(margin=2.0), path)
    assert load(edited(path, as_before)).margin == RankSVM().margin


def test_parameters_that_nobody_knows_are_refused_in_old_files(tmp_path):
    def odd(document):
        document["format_version"] = 1
        document["model"]["params"]["more"] = 1

    path = tmp_path / "model.skrank"
    save_model(RankSVM(), path)
    with pytest.raises(ValueError, match="do not match this version: more"):
        load(edited(path, odd))
