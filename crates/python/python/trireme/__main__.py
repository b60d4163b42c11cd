"""``python -m trireme ...``: the command itself."""

import os
import sys

from .command import program

os.execv(program(), ["trireme", *sys.argv[1:]])
