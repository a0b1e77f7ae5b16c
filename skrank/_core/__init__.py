"""Foundations of the package: queries, checks, parameters, threads and kernels."""
