"""Errors of the command line."""


class CommandError(Exception):
    """Something the user can put right; its message is one clear line."""
