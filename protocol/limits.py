"""Constants of the protocol that several rooms must agree on."""

from typing import Final

LEAF_CONTROL_LINE_FACTOR: Final = 16  # leaf frames carry lists of queue groups
API_LEVEL: Final = 5  # of the JetStream API: the highest level whose features are all supported
