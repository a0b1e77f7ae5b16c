"""The ground floor: queries, validation, configuration, threads and kernels."""
