"""Prints the lowest versions that pyproject.toml promises, as constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    if not re.fullmatch(r"[\w.-]+>=[\w.]+", requirement):
        sys.exit(f"pyproject.toml gives no lower bound that can be read: {requirement}")
    print(requirement.replace(">=", "=="))
