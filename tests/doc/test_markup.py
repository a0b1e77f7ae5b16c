"""Markup of docstrings that Sphinx would take for something else."""

import inspect
import re

from _public import public_objects

# A name that ends in an underscore is a reference in reStructuredText.
_REFERENCE = re.compile(r"(?<![\w`.:/$\\])[A-Za-z]\w*_(?![\w`*])")
_QUOTED = re.compile(r"``.+?``|`[^`]+`", re.S)
_NAMES = re.compile(r"^ *[\w, ]+ : ", re.M)  # of attributes, which numpydoc quotes
# Formulas and code: a line that ends in two colons, and all that is indented further.
_BLOCKS = re.compile(r"^( *)[^\n]*::[^\n]*\n(?:\1 +[^\n]*\n|\s*\n)*", re.M)


def references(docstring):
    """Return the names in a docstring that end in an underscore and are not quoted."""
    text = docstring.partition("Examples\n--------")[0] + "\n"
    text = _BLOCKS.sub("\n", text)
    return _REFERENCE.findall(_NAMES.sub("", _QUOTED.sub(" ", text)))


def test_a_reference_is_found():
    wrong = "coef_ : ndarray of shape (n_features_in_,)\n    Of `coef_` and ``a_``."
    assert references(wrong) == ["n_features_in_"]
    assert references("coef_, bias_ : floats\n    Fine.") == []
    assert references(".. math:: x_\n   y_\n\nz_ is one.") == ["z_"]


def test_no_attribute_is_taken_for_a_reference():
    found = {
        name: references(inspect.getdoc(member) or "")
        for name, member in public_objects()
    }
    assert {name: names for name, names in found.items() if names} == {}
