"""What a device does, where numpy and the standard library are all there is: `python alone.py DIRECTORY`."""

import importlib.util
import sys
from pathlib import Path

from sfumato.local import (
    Client,
    Collection,
    Device,
    Diary,
    Duchi,
    GeneralizedResponse,
    Inquiry,
    Longitudinal,
    Participant,
    Pure,
    QuantileSearch,
    decode_batch,
)


def tried(place: Path) -> None:
    """All of it, in a folder."""
    others = [
        name
        for name in ("scipy", "pyarrow", "ibis", "cryptography", "typer", "pandas")
        if importlib.util.find_spec(name)
    ]
    assert not others, f"these are installed as well: {others}"

    pets = Collection("pets", GeneralizedResponse.calibrate(3, Pure(1.0)), ("cat", "dog", "other"), "other")
    pets.save(place / "pets.json")
    device = Device(place / "pets.json", place / "device.db", budget=Pure(4.0))
    assert device.record("cat")
    assert not device.record("dog")
    (message,) = device.pending()
    assert len(decode_batch(pets, message)) == 1
    device.acknowledge(message)
    assert len(Client(Collection("age", Duchi.calibrate(0, 120, Pure(1.0)))).report(42)) == 49
    mail = Collection("mail", pets.protocol, pets.labels, key="12" * 32)
    told = ""
    for opened in (lambda: Client(mail), lambda: Device(mail, place / "sealed.db")):
        try:
            opened()
        except ImportError as error:
            told += str(error)
    assert told.count("pip install 'sfumato-client[sealed]'") == 2
    assert not (place / "sealed.db").exists()
    assert Diary(Longitudinal(pets.protocol, 2), place / "diary").report(1)
    inquiry = Inquiry("age", QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=100, blocks=1))
    inquiry.save(place / "age.json")
    inquiry.asked().save(place / "question.json")
    user = Participant(place / "age.json", place / "device.db", budget=Pure(4.0))
    assert user.answer(42, place / "question.json")
    assert len(user.pending()) == 1
    print(device.remaining(), len({name for name in sys.modules if name.startswith("sfumato")}), "modules")


if __name__ == "__main__":
    tried(Path(sys.argv[1]))
