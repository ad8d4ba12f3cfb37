"""python -m tests.evaluation [--full] | causes ... | drill ... | metamorphic ... | confidence ..."""

from __future__ import annotations

import sys

from tests.evaluation import confidence, metamorphic, simulated
from tests.evaluation.causes import command as causes
from tests.evaluation.drill import command

if __name__ == "__main__":
    programs = {
        "causes": causes.main,
        "drill": command.main,
        "metamorphic": metamorphic.main,
        "confidence": confidence.main,
    }
    first, *rest = [*sys.argv[1:], ""]
    if first in programs:
        programs[first](rest[:-1])
    else:
        simulated.main(sys.argv[1:])
