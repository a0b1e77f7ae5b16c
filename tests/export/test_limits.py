"""Model files that would fill the memory, and those that only need a larger limit."""

import io
import json
import threading
import zipfile

import numpy as np
import pytest
from _tamper import npy, read, write
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

import skrank
from skrank._core import _reading
from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.rankers import RankSVM


@pytest.fixture(scope="module")
def data():
    """A small ranking task."""
    return make_ranking(12, n_features=5, n_informative=3, random_state=0)


def archive(document, **members):
    """Content of a model file."""
    buffer = io.BytesIO()
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {"model.json": text, **members}.items():
            file.writestr(name, content)
    return buffer.getvalue()


def model_with(alpha):
    header = {"format": "skrank-model", "format_version": 2}
    estimator = {
        "class": "skrank.rankers.RankSVM",
        "params": {**RankSVM().get_params(), "alpha": alpha},
        "state": {},
    }
    return {**header, "versions": {"skrank": skrank.__version__}, "model": estimator}


ARRAY = {"type": "array", "member": "x"}


def header_of(shape, dtype="<f8", version=(1, 0)):
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    if version == (1, 0):
        np.lib.format.write_array_header_1_0(buffer, header)
    else:
        np.lib.format.write_array_header_2_0(buffer, header)
    return buffer.getvalue()


def test_the_models_of_these_tests_are_right_but_for_what_is_tested():
    assert load_model(archive(model_with(2.5))).alpha == 2.5


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((10**12,), "<f8", "x should hold 8000000000000 bytes .* but holds 16"),
        ((10**30, 10**30), "<f8", "x should hold 80000"),
        ((-1,), "<f8", r"x has the shape \(-1,\), with a length below 0"),
        ((1,), "<f8", "x should hold 8 bytes .* but holds 16"),
        ((10**12,), "|V0", "x holds 1000000000000 values of no size"),
        ((2,), "|O", "x holds Python objects, which model files never do"),
        ((1,) * 70, "<f8", "x has 70 axes; accepted are at most 32"),
    ],
)
def test_headers_are_not_trusted(shape, dtype, message, version):
    content = header_of(shape, dtype, version) + bytes(16)
    with pytest.raises(ValueError, match=message):
        load_model(archive(model_with(ARRAY), x=content))


def test_a_header_that_is_no_header():
    broken = header_of((2,)).replace(b"shape", b"'((((") + bytes(16)
    sum_ = header_of((2,)).replace(b"(2,)", b"(1+1,)") + bytes(16)
    for content, told in (
        (broken, "x has a header that describes no array$"),
        (sum_, "x has a header that describes no array$"),
        (b"", "x does not begin like an array$"),
        (b"\x93NUMPY\x09\x00", "x has the unknown format version"),
        (bytes(16), "x does not begin like an array$"),
    ):
        with pytest.raises(ValueError, match=f"^<text> is not a valid .*: {told}"):
            load_model(archive(model_with(ARRAY), x=content))


@pytest.mark.parametrize("member", ["../x", 5, None, ["x"]])
def test_members_that_are_not_there_are_named(member):
    with pytest.raises(ValueError, match="it lacks the member ") as caught:
        load_model(archive(model_with({"type": "array", "member": member})))
    assert str(caught.value).endswith(f"it lacks the member {member!r}")


@pytest.mark.parametrize(
    ("strides", "told"),
    [
        ([1], "be one whole number for each axis"),
        ("ab", "be one whole number for each axis"),
        ([True, 1], "be one whole number for each axis"),
        ([1.0, 1], "be one whole number for each axis"),
        ([2**40, 1], "no longer than"),
        ([-(2**62), 1], "no longer than"),
        ([10**30, -1], "no longer than"),
    ],
)
def test_strides_stay_within_the_memory(strides, told, tmp_path):
    path = tmp_path / "m"
    save_model(RankSVM(kernel_params={"array": np.eye(4)[::-1, ::-1]}), path)
    document, members = read(path)
    array = document["model"]["params"]["kernel_params"]["items"][0][1]
    assert array["strides"] == [-4, -1]
    array["strides"] = strides
    write(path, document, members)
    with pytest.raises(ValueError, match=f"strides must .*{told}"):
        load_model(path)
    array["strides"] = [-4, -1]
    write(path, document, {name: npy(np.zeros((0, 4))) for name in members})
    with pytest.raises(ValueError, match=r"strides must .* that is not empty"):
        load_model(path)


@pytest.mark.parametrize("stride", [10, 11])
def test_strides_make_an_array_three_times_as_long_at_most(stride, tmp_path):
    path, given = tmp_path / "m", np.array([[1.0, 2.0], [3.0, 4.0]])[::-1, ::-1]
    save_model(RankSVM(kernel_params={"array": given}), path)
    document, members = read(path)
    array = document["model"]["params"]["kernel_params"]["items"][0][1]
    array["strides"] = [stride, -1]  # the first number and the last are 11 or 12 apart
    write(path, document, members)
    if stride == 11:
        told = r"of 4 numbers no longer than 12, got \[11, -1\]"
        with pytest.raises(ValueError, match=f"strides must make an array {told}"):
            load_model(path)
        return
    found = load_model(path).kernel_params["array"]
    np.testing.assert_array_equal(found, given)
    assert found.strides == (80, -8)


def test_a_small_file_holds_some_estimators():
    """Each takes a millisecond to check, and a few bytes if it is repeated."""
    content = io.BytesIO()
    save_model(Pipeline([("s", Normalizer())]), content)
    with zipfile.ZipFile(content) as file:
        document = json.loads(file.read("model.json"))
    step = document["model"]["params"]["steps"][0]

    def with_steps(n):
        steps = [{**step, "items": [f"s{i}", step["items"][1]]} for i in range(n)]
        document["model"]["params"]["steps"] = steps
        return archive(document)

    assert len(load_model(with_steps(500)).steps) == 500
    with pytest.raises(ValueError, match=r"it holds more than \d{4} estimators"):
        load_model(with_steps(2000))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[" * 10**6, "it is nested too deeply"),
        ('{"a": ' * 10**5, "it is nested too deeply"),
        ('{"a": ' + "9" * 10**6 + "}", "a whole number has too many digits"),
        ('{"a": "' + "9" * 10**6 + '"}', "no header of format"),
        ({**model_with(1.0), "format_version": "9" * 10**6}, "format version '9+…9+'"),
        ({**model_with(1.0), "model": {"class": "x" * 10**6}}, "class 'x+…"),
    ],
)
def test_odd_documents_make_short_messages(document, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_model(archive(document))
    assert len(str(caught.value)) < 500


def test_the_limit_counts_all_that_is_unpacked(monkeypatch):
    monkeypatch.setattr(_reading, "_SMALL", 10**6)
    message = "<text> holds more than 1000000 bytes.* larger max_bytes"
    big = npy(np.zeros(80_000))
    for content in (
        archive(" " * 10**6),  # JSON weighs more than arrays
        archive(model_with(ARRAY), x=npy(np.zeros(200_000))),
        archive(model_with([ARRAY] * 3), x=big),  # one member, several times
    ):
        with pytest.raises(ValueError, match=message):
            load_model(content)
        # With a larger limit, something else is wrong with them.
        with pytest.raises(ValueError, match="is not a valid model file"):
            load_model(content, max_bytes=10**8)
    with pytest.raises(ValueError, match="alpha must be a number"):
        load_model(archive(model_with(ARRAY), x=big))


def test_max_bytes_is_for_models_as_well(data, tmp_path):
    save_model(RankSVM().fit(*data), tmp_path / "model")
    with pytest.raises(ValueError, match=r"model holds more than 100 bytes"):
        load_model(tmp_path / "model", max_bytes=100)
    load_model(tmp_path / "model", max_bytes=10**6)
    with pytest.raises(ValueError, match="max_bytes must be a whole number >= 1"):
        load_model(tmp_path / "model", max_bytes=0)


def test_file_objects(data):
    model, buffer = RankSVM().fit(*data), io.BytesIO()
    save_model(model, buffer)
    buffer.seek(0)
    loaded = load_model(buffer)
    assert loaded.coef_.tolist() == model.coef_.tolist()
    assert load_model(buffer.getvalue()).coef_.tolist() == model.coef_.tolist()


def test_the_path_is_checked_before_the_model_is_encoded(data, tmp_path, monkeypatch):
    def encode(self, *args):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("skrank.export._encode.Encoder.estimator", encode)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_model(RankSVM(), tmp_path / "no" / "model")


def test_threads_that_save_to_one_path(data, tmp_path):
    path, failures = tmp_path / "model", []
    model = RankSVM().fit(*data)

    def work():
        try:
            for _ in range(5):
                save_model(model, path)
                load_model(path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_python_unpacks_without_a_limit_are_refused(method):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as file:
        file.writestr("model.json", json.dumps(model_with(1.0)))
    with pytest.raises(ValueError, match="accepted are members that are stored or"):
        load_model(content.getvalue())
