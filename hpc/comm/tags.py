"""The tags of all our messages."""

from enum import IntEnum


class Tag(IntEnum):
    """One tag for each kind of message; order between two ranks does the rest."""

    FORWARD = 1
    BACKWARD = 2
    RELAY = 3
    OUTPUT = 4
    CLOCK = 5
    VALIDATE = 6
