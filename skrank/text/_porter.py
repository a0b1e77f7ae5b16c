"""The suffix stripping of Porter (1980)."""

from collections.abc import Callable, Mapping

from skrank._core._messages import shown
from skrank._core._validation import check_arguments

# Endings and what takes their place, for the steps that are one list of rules each. Of
# the endings that a word has, the longest decides, whether its condition holds or not.
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_REVISED_STEP_2 = {k: v for k, v in _STEP_2.items() if k != "abli"} | {
    "bli": "ble",
    "logi": "log",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4 = dict.fromkeys(
    [
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment"),
        *("ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    ],
    "",
)


def _form(word: str) -> str:
    """Return ``"c"`` for each consonant and ``"v"`` for each vowel of a word."""
    form = ""
    for letter in word:
        # y is a vowel after a consonant: in "syzygy", but not in "toy" or "yes".
        is_vowel = letter in "aeiou" or (letter == "y" and form.endswith("c"))
        form += "v" if is_vowel else "c"
    return form


def _measure(stem: str) -> int:
    """Return m, the number of times that consonants follow vowels."""
    return _form(stem).count("vc")


def _ends_in_syllable(stem: str) -> bool:
    """Whether a stem ends like "hop": consonant, vowel, consonant but w, x and y."""
    return _form(stem).endswith("cvc") and stem[-1] not in "wxy"


def _ends_twice(stem: str) -> bool:
    """Whether a stem ends in the same consonant twice."""
    return stem[-2:-1] == stem[-1:] and _form(stem).endswith("c")


def _replace(
    word: str, rules: Mapping[str, str], holds: Callable[[str, str], bool]
) -> str:
    """Apply the rule of the longest ending that a word has, if its condition holds."""
    endings = [ending for ending in rules if word.endswith(ending)]
    if not endings:
        return word
    ending = max(endings, key=len)
    stem = word.removesuffix(ending)
    return stem + rules[ending] if holds(stem, ending) else word


def _step_1a(word: str) -> str:
    rules = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
    return _replace(word, rules, lambda stem, ending: True)


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word:
            return _tidied(stem) if "v" in _form(stem) else word
    return word


def _tidied(stem: str) -> str:
    """Repair a stem from which step 1b has taken -ed or -ing."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_twice(stem) and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_in_syllable(stem) else stem


def _step_1c(word: str) -> str:
    if word.endswith("y") and "v" in _form(word[:-1]):
        return word[:-1] + "i"
    return word


def _long_enough(stem: str, ending: str) -> bool:
    return _measure(stem) > 0


def _may_lose(stem: str, ending: str) -> bool:
    """Condition of step 4."""
    return _measure(stem) > 1 and (ending != "ion" or stem.endswith(("s", "t")))


def _step_5(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        m = _measure(stem)
        if m > 1 or (m == 1 and not _ends_in_syllable(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def stem_porter(word: str, *, revised: bool = False) -> str:
    """Strip the suffixes of an English word by Porter's algorithm.

    Five steps take off or replace the longest ending of a list, on conditions on what
    stays. The central one is the measure m of a stem, the number of times that
    consonants follow vowels in it: an ending goes if what stays is long enough to be a
    word.

    Parameters
    ----------
    word : str
        Word in lower case. Whatever is not one of the letters a to z counts as a
        consonant.
    revised : bool, default=False
        Whether to take the changes that the author has made to the published rules, as
        his own programs and Lucene do: words of one or two letters stay as they are; in
        step 2, ``-bli`` becomes ``-ble`` (as published, only ``-abli`` becomes
        ``-able``) and ``-logi`` becomes ``-log``.

    Returns
    -------
    str
        Stem of the word, which need not be a word.

    Raises
    ------
    TypeError
        If the word is not a string.

    See Also
    --------
    stem_plural : Lighter stemmer, which only turns plurals into singulars.

    References
    ----------
    [Porter1980]_

    Examples
    --------
    >>> from skrank.text import stem_porter
    >>> [stem_porter(word) for word in ["relational", "vibrations", "hopping", "flies"]]
    ['relat', 'vibrat', 'hop', 'fli']
    >>> stem_porter("archaeology"), stem_porter("archaeology", revised=True)
    ('archaeologi', 'archaeolog')
    """
    if not isinstance(word, str):
        raise TypeError(f"word must be a string, got {shown(word)}")
    check_arguments(stem_porter, revised=revised)
    return _stem(word, revised)


def _stem(word: str, revised: bool) -> str:
    if revised and len(word) <= 2:
        return word
    word = _step_1c(_step_1b(_step_1a(word)))
    word = _replace(word, _REVISED_STEP_2 if revised else _STEP_2, _long_enough)
    word = _replace(word, _STEP_3, _long_enough)
    return _step_5(_replace(word, _STEP_4, _may_lose))
