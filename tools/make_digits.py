"""Writes tests/fixtures/digits/digits.bin from the copy of the digits that scikit-learn ships.

Usage: make_digits.py OUT_FILE   (needs scikit-learn)

1,797 records of 65 bytes: 64 pixels from 0 to 16, row by row, and the digit.
"""
import sys

import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
records = np.concatenate([digits.data, digits.target[:, None]], axis=1).astype(np.uint8)
with open(sys.argv[1], "wb") as f:
    f.write(records.tobytes())
