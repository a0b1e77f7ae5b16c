"""Makes the folder of benchmarks importable, after everything installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
