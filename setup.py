"""How the compiled modules are built; everything else is said in pyproject.toml.

Left to itself, setuptools builds one module after another, and Cython writes its 20,000
lines for memoryviews into each of them, which takes longer to compile than the kernels.
No setting declares what is done instead: a module of its own holds what they have in
common, and as many are translated (in processes, for Cython is not safe in threads) and
then compiled at a time as there are processors.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SHARED = "skrank._core._cython_shared"
SHARED_SOURCE = "skrank/_core/_cython_shared.c"  # written by Cython


def count_processors():
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class BuildExtensions(build_ext):
    def finalize_options(self):
        modules = self.distribution.ext_modules
        if all(module.name != SHARED for module in modules):
            modules.append(Extension(SHARED, [SHARED_SOURCE]))
        super().finalize_options()
        self.parallel = self.parallel or count_processors()

    def get_source_files(self):
        """Return the sources that a source distribution holds."""
        return [path for path in super().get_source_files() if path != SHARED_SOURCE]

    def build_extensions(self):
        translated = cythonize(
            self.extensions,
            nthreads=self.parallel,
            force=self.force,
            shared_utility_qualified_name=SHARED,
        )
        for module, result in zip(self.extensions, translated, strict=True):
            module.sources = result.sources
            if not self.debug:  # CPython's options ask for symbols always
                module.extra_compile_args.append("-g0")
            if module.name == SHARED:  # no loop of it is worth the time that -O3 takes
                module.extra_compile_args.append("-O1")
        # The longest first, so that no processor is left with one of them at the end.
        self.extensions.sort(key=lambda m: -Path(m.sources[0]).stat().st_size)
        super().build_extensions()


if __name__ == "__main__":  # a process that translates may import this file
    setup(cmdclass={"build_ext": BuildExtensions})
