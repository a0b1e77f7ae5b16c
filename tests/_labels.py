"""Names of test cases."""

import re


def label(thing):
    """A name that is the same in every process, without addresses of functions."""
    return re.sub(r"\s+", " ", re.sub(r" at 0x\w+", "", repr(thing)))
