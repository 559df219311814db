"""Which tests are long: `pytest --durations=0 ... > RUN`, then `python tests/durations.py RUN` writes `long.txt` anew.

A case of a parametrized test is long by its own seconds, or because others of that test fill its share of the quick
run; one case at least stays there.  Nets that should hear of every change stay whole.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from rotation import read_durations, read_seconds, write_seconds

LONGEST, ALONE = 0.5, 1.0  # seconds of a case among others, and of the only one
SHARE, PLANTED_SHARE = 1.5, 5.0  # seconds of all quick cases of a test; of the planted bugs
QUICK = re.compile(
    r"test_no_neighbors_cost_more_than_is_claimed$|test_hostile\.py.*\[row\]|cli/test_cli_kills|test_engines_reference"
    r"|test_layers|test_islands|the_quickstart_runs|statements/test_sentences|test_aside\.py::test_answers_are"
    r"|publishing_hostile_texts|test_docs\.py.*README|test_rot|test_proofs|test_checklists|test_answers_agree_with_the_comp"
    r"|contracts/test_mechanisms|contracts/test_questions|_contract\.py.*_keeps_every_law|test_spaces\.py.*_keeps_every_law"
    r"|test_nets"
)
PLANTED = "test_planted_bug_is_found_in_seconds"


def find_long(seconds: Mapping[str, float]) -> set[str]:
    """Return the names of long tests, given the seconds of each."""
    tests = defaultdict(list)
    for name in seconds:
        tests[name.split("[")[0]].append(name)
    return {name for names in tests.values() for name in _find_long_cases(names, seconds)}


def _find_long_cases(names: list[str], seconds: Mapping[str, float]) -> list[str]:
    """Return the cases of one test that are long; which stay is drawn by their names, quick ones first."""
    left = PLANTED_SHARE if PLANTED in names[0] else SHARE
    fits = sum(seconds[name] for name in names) <= left
    long, kept = [], len([name for name in names if QUICK.search(name)])
    for name in sorted(names, key=lambda name: (seconds[name] >= LONGEST, hashlib.sha256(name.encode()).digest())):
        if QUICK.search(name):
            continue
        stays = seconds[name] < LONGEST and (fits or seconds[name] <= left)
        if stays or (not kept and seconds[name] < ALONE):
            kept, left = kept + 1, left - seconds[name]
        else:
            long.append(name)
    return long


if __name__ == "__main__":
    place, measured = Path(__file__).with_name("long.txt"), read_durations(Path(sys.argv[1]).read_text())
    long = {*place.read_text().splitlines(), *find_long(measured)}  # such a run leaves out those that were known
    place.write_text("\n".join(sorted(long)) + "\n")
    write_seconds(read_seconds() | {name: spent for name, spent in measured.items() if name in long})
