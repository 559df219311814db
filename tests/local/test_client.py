"""The client: what it imports, what it sends, what it keeps, and what it spends."""

import json
import multiprocessing
import os
import re
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.local.client import Budget, Client, SystemBits, decode_batch
from sfumato.local.protocols import GeneralizedResponse, OptimizedUnary, Rappor
from sfumato.local.protocols.tabulated import Tabulated
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded

SOURCE = Path(__file__).parent.parent.parent / "src"
RESPONSE = GeneralizedResponse.calibrate(4, Pure(0.5))

USE_ALL = f"""
    import numpy as np
    TABULATED = {Tabulated.calibrate(4, Pure(1.0)).to_record()!r}
    from sfumato.local.client import Budget, Client, SystemBits, decode_batch
    from sfumato.local.protocols import KINDS, GeneralizedResponse, protocol_from
    from sfumato.privacy.guarantees import Pure
    target = Pure(1.0, assumptions=frozenset(["real-arithmetic"]))
    for kind in KINDS:
        if kind.name == "tabulated":
            protocol, value = protocol_from(TABULATED), 3
        elif kind.goal == "frequencies":
            protocol, value = kind.calibrate(16, target), 3
        elif kind.name == "privunit":
            protocol, value = kind.calibrate(4, target), [0.1, 0.2, 0.3, 0.4]
        elif kind.goal == "means":
            protocol, value = kind.calibrate(4, -1, 1, target), [0.1, 0.2, 0.3, 0.4]
        else:
            protocol, value = kind.calibrate(-1, 1, target), 0.5
        protocol = protocol_from(protocol.to_record())
        client = Client(protocol, budget=Budget(Pure(5.0, assumptions=target.assumptions)))
        batch = decode_batch(protocol, client.report(value))
        assert np.isfinite(protocol.estimate(protocol.tally(batch.reports), 1)).all()
        client.describe()
    from sfumato.local.collection.declaration import Collection
    pets = Collection("pets", GeneralizedResponse.calibrate(3, target), ("cat", "dog", "other"), "other")
    assert all(len(Client(pets).report(value)) == 49 for value in ("dog", "dgo", None))
    print("done")
"""


# what it imports


def test_the_client_needs_numpy_and_the_standard_library_only():
    """In a fresh process where every other import fails, all protocols report, decode, tally and estimate."""
    guard = f"""
    import sys
    sys.path.insert(0, {str(SOURCE)!r})
    allowed = set(sys.stdlib_module_names) | {{"numpy", "sfumato"}}
    class Guard:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] not in allowed:
                raise ImportError("a client must not import " + name)
    sys.meta_path.insert(0, Guard())
    """
    script = textwrap.dedent(guard) + textwrap.dedent(USE_ALL)
    script += textwrap.dedent("""
    try:
        import scipy
    except ImportError:
        pass
    else:
        raise SystemExit("the guard does not guard")
    extra = {name.split(".")[1] for name in sys.modules if name.startswith("sfumato.")}
    leaves = {"arguments", "cards", "errors", "markup", "numeric", "records", "storage", "version", "visible"}
    assert extra <= leaves | {"privacy", "local"}, extra
    """)
    run = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "done\n"


def test_the_client_runs_in_an_environment_that_has_only_numpy(tmp_path):
    """A new environment without site packages; numpy is linked into it from this one."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    packages = next((tmp_path / "bare" / "lib").glob("python*")) / "site-packages"
    home = Path(np.__file__).parent
    for folder in (home, home.parent / "numpy.libs"):
        if folder.exists():
            (packages / folder.name).symlink_to(folder)
    (packages / "sfumato").symlink_to(SOURCE / "sfumato")
    run = subprocess.run([python, "-c", textwrap.dedent(USE_ALL)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "done\n"


# what it sends


def test_a_report_is_one_small_message_that_decodes():
    client = Client(RESPONSE)
    for value in (2, 2.0, np.int8(2), np.float32(2)):
        message = client.report(value)
        assert len(message) == 49
        assert len(decode_batch(RESPONSE, message)) == 1


def test_the_description_is_plain_and_complete(tmp_path):
    text = Client(RESPONSE, tmp_path / "memory", Budget(Pure(2.0))).describe()
    for part in ("one of 4 categories", "and nothing else", "epsilon = 0.5", "kept on the device", "Pure(epsilon=2.0)"):
        assert part in text
    assert "drawn afresh" in Client(RESPONSE).describe()


def test_system_bits_are_words():
    words = SystemBits().bits64(1000)
    assert words.dtype == np.uint64
    assert len(np.unique(words)) == 1000
    with pytest.raises(ParameterError, match="count must not be negative"):
        SystemBits().bits64(-1)


# what it keeps


def test_the_same_value_is_answered_the_same_and_another_anew(tmp_path):
    protocol = OptimizedUnary.calibrate(64, Pure(1.0))
    budget = Budget(Pure(2.0))
    first = Client(protocol, tmp_path / "memory", budget)
    again = Client(protocol, tmp_path / "memory", budget)  # after a restart
    sent = [decode_batch(protocol, c.report(v)).reports.tobytes() for c, v in [(first, 5), (again, 5), (again, 6)]]
    assert sent[0] == sent[1] != sent[2]
    assert budget.remaining().epsilon == pytest.approx(2 - 2 * protocol.guarantee().epsilon, abs=1e-11)
    names = {decode_batch(protocol, first.report(5)).name for _ in range(3)}
    assert len(names) == 3  # only the report is the same: its name ties it to nothing


def test_rappor_keeps_one_bitmap_and_sends_fresh_copies(tmp_path):
    """400 reports from one kept bitmap: each bit's share is near p or near q (5.5 deviations apart from half way)."""
    rappor = Rappor.calibrate(32, Pure(1.0))
    budget = Budget(Pure(1.0))
    client = Client(rappor, tmp_path / "memory", budget, seeded(611))
    sent = np.concatenate([decode_batch(rappor, client.report(3)).reports for _ in range(400)])
    assert len(np.unique(sent, axis=0)) > 350
    share = np.unpackbits(sent, axis=1, bitorder="little").mean(axis=0)
    assert np.all(np.minimum(np.abs(share - 0.75), np.abs(share - 0.25)) < 0.125)
    assert budget.remaining().epsilon == pytest.approx(1 - rappor.forever().epsilon, abs=1e-11)


def test_when_the_budget_is_spent_a_new_value_changes_nothing(tmp_path):
    """The value never decides whether a report is sent: the answer kept last is sent again."""
    client = Client(RESPONSE, tmp_path / "memory", Budget(Pure(1.0), tmp_path / "budget"))
    sent = [decode_batch(RESPONSE, client.report(value)).reports.tolist() for value in (0, 1, 2, 3, 2)]
    assert sent[2:] == [sent[1]] * 3
    kept = json.loads((tmp_path / "memory").read_text())["kept"]
    assert set(kept) == {"0", "1"}
    poor = Client(RESPONSE, tmp_path / "other", Budget(Pure(0.1)))
    with pytest.raises(BudgetExceeded, match="remains"):
        poor.report(1)


def test_memory_of_another_protocol_or_damaged_is_refused(tmp_path):
    Client(RESPONSE, tmp_path / "memory").report(1)
    with pytest.raises(LedgerError, match="another protocol"):
        Client(GeneralizedResponse.calibrate(4, Pure(0.6)), tmp_path / "memory").report(1)
    (tmp_path / "memory").write_text("{")
    with pytest.raises(LedgerError, match="nothing is sent without it"):
        Client(RESPONSE, tmp_path / "memory").report(1)
    assert (tmp_path / "memory").read_text() == "{"


def test_files_are_for_the_owner_only(tmp_path):
    Client(RESPONSE, tmp_path / "memory", Budget(Pure(1.0), tmp_path / "budget")).report(1)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("memory", "budget")} == {0o600}


# what it spends


def test_rounds_add_up_and_each_is_answered_once(tmp_path):
    path = tmp_path / "budget"
    budget = Budget(Approximate(1.0, 0.01), path)
    budget.spend(Approximate(0.4, 0.004), "round 1")
    assert Budget(Approximate(1.0, 0.01), path).remaining() == Approximate(0.6, 0.006)
    with pytest.raises(BudgetExceeded, match="answered already"):
        Budget(Approximate(1.0, 0.01), path).spend(Pure(0.1), "round 1")
    with pytest.raises(BudgetExceeded, match="remains"):
        budget.spend(Approximate(0.1, 0.007), "round 2")
    budget.spend(Pure(0.6), "round 3")
    assert budget.spent("round 3")
    assert not budget.spent("round 2")
    assert not budget.allows(Pure(1e-9))


def test_amounts_round_up_and_assumptions_must_be_allowed():
    budget = Budget(Pure(1.0))
    budget.spend(Pure(1e-15), "tiny")
    assert budget.remaining() == Pure(1 - 1e-12)
    assert not budget.allows(Pure(0.1, assumptions=frozenset(["real-arithmetic"])))


def test_another_limit_or_a_damaged_file_stops_everything(tmp_path):
    path = tmp_path / "budget"
    Budget(Pure(1.0), path).spend(Pure(0.5), "a")
    with pytest.raises(LedgerError, match=r"open it with the limit.*Pure\(epsilon=1.0\)"):
        Budget(Pure(9.0), path)
    for damage in ("", "[]", '{"format": "sfumato-budget/1"}'):
        path.write_text(damage)
        with pytest.raises(LedgerError, match=re.escape("budget")):
            Budget(Pure(1.0), path)
    with pytest.raises(ParameterError, match="limit must be"):
        Budget(Concentrated(1.0))


def spender(path, key):
    """Try to spend half of the budget."""
    try:
        Budget(Pure(1.0), path).spend(Pure(0.25), key)
    except BudgetExceeded:
        os._exit(1)
    os._exit(0)


def test_processes_cannot_overspend_together(tmp_path):
    context = multiprocessing.get_context("fork")
    people = [context.Process(target=spender, args=(tmp_path / "budget", f"round {i}")) for i in range(8)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(person.exitcode for person in people) == [0] * 4 + [1] * 4
    assert Budget(Pure(1.0), tmp_path / "budget").remaining() == Pure(0.0)


def test_a_crash_before_sending_spends(tmp_path, monkeypatch):
    budget = Budget(Pure(1.0), tmp_path / "budget")
    client = Client(RESPONSE, budget=budget)
    monkeypatch.setattr(type(RESPONSE), "randomize", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        client.report(1, "round 1")
    assert Budget(Pure(1.0), tmp_path / "budget").spent("round 1")
