"""Errors of the command line."""


class CommandError(Exception):
    """A mistake that the user can put right, described in one clear line."""
