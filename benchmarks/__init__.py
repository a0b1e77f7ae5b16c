"""Benchmarks: what is fast, and compared with what, measured side by side."""
