# cython: language_level=3
"""NumPy without warnings, whose error state is put back whatever happens.

Python answers a signal where a function of Python begins. Behind a long product of
matrices at the end of a block this is the method ``__exit__`` of `numpy.errstate`, which
then does nothing, so that Ctrl-C left NumPy silent for good. Compiled methods begin
without looking for signals.
"""

import numpy as np


cdef class Quiet:
    """A context in which NumPy neither warns nor raises errors."""

    cdef dict before

    def __enter__(self):
        self.before = np.geterr()
        try:
            np.seterr(all="ignore")
        except BaseException:
            put_back(self.before)
            raise

    def __exit__(self, *error):
        put_back(self.before)


cdef put_back(dict before):
    try:
        np.seterr(**before)
    except BaseException:  # that of a signal, answered before anything was done
        np.seterr(**before)
        raise
