"""Random JSON: mostly usual, sometimes unusual, sometimes damaged."""

from __future__ import annotations

import json
import random

# One character, for edits.
EDITS = [*' \t\r"\\{}[],:.-+0159eEuNtafklsrI/é\x00\x1f\x7f\x0b\xa0\ufeff']

# Pairs: the usual ones, the unusual ones.
NUMBERS = (
    [
        *("0", "-0", "1", "-1", "5", "6", "7", "42", "1.0", "1e3", "1521911720.865716"),
        str(2**63 + 1),
    ],
    [
        *("-0.0", "5.0", "1E400", "-1e-5", "true", "false", "null", "1." + "9" * 5000, "9" * 639),
        *("NaN", "Infinity", "-Infinity", "9" * 640, "-" + "9" * 4300, "9" * 4301),
        *(str(sign * 2**63 + more) for sign in (1, -1) for more in (-1, 0, 1)),
        *(str(sign * 2**64 + more) for sign in (1, -1) for more in (-1, 0, 1)),
        str(2**64 - 2),
    ],
)
STRINGS = (
    [*('""', '"a"', '"k"', '"é"', '"a\\nb"', '"\\u0061"', '"2011-08-18"', '"1521911720"')],
    [
        *(
            '"\\ud83d\\ude00"',
            '"\\/"',
            '"\x7f\\u0000"',
            '"\\u0031"',
            '"\u0661"',
            '"2011-08-18\xa0"',
        ),
        *('"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\u0041"'),
    ],
)
KEYS = (
    [*('"k"', '"k"', '"a"', '"b"', '"n"', '"t"', '"a.b"', '"a.n"', '"\\u006b"', '"\\u0061"')],
    [
        *('""', '"."', '"a..b"', '"\\u0061.b"', '"K"', '"é"', '"$serde_json::private::RawValue"'),
        *('"\\ud800"', '"\\udcff"'),
    ],
)
_UNUSUAL = 0.04
SPACES = ["", "", "", "", " ", "\t", "\r", " \r \t"]


def one_of(chance: random.Random, usual: list[str], unusual: list[str]) -> str:
    return chance.choice(unusual if chance.random() < _UNUSUAL else usual)


def value(chance: random.Random, *, depth: int) -> str:
    """Return any JSON value, nested at most ``depth`` deep."""
    kind = chance.random()
    if depth and kind < 0.3:
        return written_object(chance, depth=depth - 1)
    if depth and kind < 0.4:
        values = (value(chance, depth=depth - 1) for _ in range(chance.randrange(4)))
        return "[" + ",".join(values) + "]"
    if kind < 0.75:
        return one_of(chance, *NUMBERS)
    if kind < 0.95:
        return one_of(chance, *STRINGS)
    return json.dumps("".join(chance.choices('ab\0\n\t"\\\x7fé\u2028😀', k=chance.randrange(4))))


def written_object(chance: random.Random, *, depth: int) -> str:
    """Return an object whose keys have any order and may repeat."""

    def spaced(text: str) -> str:
        return chance.choice(SPACES) + text + chance.choice(SPACES)

    pairs = (
        spaced(one_of(chance, *KEYS)) + ":" + spaced(value(chance, depth=depth))
        for _ in range(chance.randrange(9))
    )
    return "{" + ",".join(pairs) + "}"


def line(chance: random.Random) -> str:
    """Return an object; one in four has a character replaced, added or removed, or is truncated."""
    whole = chance.choice(SPACES) + written_object(chance, depth=3) + chance.choice(SPACES)
    if chance.random() < 0.75:
        return whole
    place = chance.randrange(len(whole))
    edit = chance.choice(["", *EDITS, "nan", "'", ",,", "\\u12", "0x", "1_0"])
    return whole[:place] + edit + whole[chance.choice([place, place + 1, len(whole)]) :]
