"""Which tests are long: `pytest --durations=0 ... > RUN`, then `python tests/durations.py RUN` writes `long.txt` anew.

Nets that should hear of every change stay with the quick ones, and so do every third of the planted bugs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

LONGEST = 1.2  # seconds of a test beside another on two cores
LINE = re.compile(r"([\d.]+)s (?:setup|call|teardown) +(\S.*?)\s*$")
QUICK = re.compile(
    r"test_no_neighbors_cost_more_than_is_claimed$|test_hostile\.py.*\[row\]|cli/test_cli_kills|test_engines_reference"
    r"|test_layers|test_islands|the_quickstart_runs|statements/test_sentences|test_aside\.py::test_answers_are"
    r"|publishing_hostile_texts|test_docs\.py.*README|test_rot|test_proofs|test_checklists|test_answers_agree_with_the_comp"
)
PLANTED = "test_planted_bug_is_found_in_seconds"


def long_ones(run: str) -> list[str]:
    """The names of long tests in what a run printed."""
    seconds: Counter[str] = Counter()
    for line in run.splitlines():
        if found := LINE.match(line):
            seconds[found[2]] += float(found[1])
    planted = sorted((name for name in seconds if PLANTED in name), key=seconds.__getitem__)
    quick = set(planted[::3])
    return sorted(
        name for name, spent in seconds.items() if spent >= LONGEST and name not in quick and not QUICK.search(name)
    )


if __name__ == "__main__":
    place = Path(__file__).with_name("long.txt")
    known = place.read_text().splitlines()  # those that such a run leaves out
    place.write_text("\n".join(sorted({*known, *long_ones(Path(sys.argv[1]).read_text())})) + "\n")
