"""A light stemmer, which turns English plurals into singulars."""

from skrank._core._messages import shown


def stem_plural(word: str) -> str:
    """Strip the ending of an English plural.

    The first of these rules whose ending matches decides, and its exceptions leave the
    word as it is:

    1. ``-ies`` to ``-y``, except after ``e`` or ``a``;
    2. ``-es`` to ``-e``, except after ``a``, ``e`` or ``o``;
    3. ``-s`` removed, except after ``u`` or ``s``.

    Words of three letters or fewer are left alone.

    Parameters
    ----------
    word : str
        Word in lower case.

    Returns
    -------
    str
        Stem of the word.

    Raises
    ------
    TypeError
        If the word is not a string.

    References
    ----------
    [Harman1991]_, table 1 (the "S" stemmer).

    Examples
    --------
    >>> [stem_plural(w) for w in ["matrices", "queries", "values", "class", "bias"]]
    ['matrice', 'query', 'value', 'class', 'bia']
    """
    if not isinstance(word, str):
        raise TypeError(f"word must be a string, got {shown(word)}")
    if len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]
