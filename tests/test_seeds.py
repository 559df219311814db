"""What a test draws depends on its name alone, not on what lives of those before it."""

from contextlib import contextmanager

from seeding import keyed
from sfumato.randomness import secure

named = contextmanager(keyed)


def test_a_name_gives_the_same_words_however_many_generators_live():
    with named("a"):
        alone = secure().word()
    crowd = [secure() for _ in range(5)]
    with named("a"):
        among = secure().word()
    assert len(crowd) == 5
    assert alone == among


def test_a_shared_generator_begins_anew_with_each_name_as_its_own_birth_says():
    def shared(others: int) -> list[int]:
        with named("fixture"):
            rng = secure()
        crowd = [secure() for _ in range(others)]
        found = []
        for name in ("a", "b", "a"):
            with named(name):
                found.append(rng.word())
        assert len(crowd) == others
        return found

    first, second, again = shared(0)
    assert first == again != second
    assert shared(7) == [first, second, again]
    with named("a"):
        assert secure().word() != first
