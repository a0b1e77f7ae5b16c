"""Directive ``command-help``: what ``skrank COMMAND --help`` prints."""

import os
import subprocess
import sys

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def help_of(command):
    """Text of the help of a command, wrapped for a page.

    Parameters
    ----------
    command : str
        Such as "fit" or "clicks fit".

    Returns
    -------
    str
        As printed.
    """
    result = subprocess.run(
        [sys.executable, "-m", "skrank", *command.split(), "--help"],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )
    return result.stdout


class CommandHelp(SphinxDirective):
    """Show the help of a command."""

    required_arguments = 1
    final_argument_whitespace = True  # a command may have actions

    def run(self):
        """Run the command."""
        text = help_of(self.arguments[0])
        return [nodes.literal_block(text, text, language="text")]


def setup(app):
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
