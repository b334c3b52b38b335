"""Templates that users see and may override."""

import os

FOLDER = os.path.dirname(__file__)
"""The folder of the built-in ones."""
