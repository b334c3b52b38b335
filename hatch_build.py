"""Compile the catalogues of messages when kb is built or installed, editable or not."""

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Catalogues(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls before it builds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile every catalogue beside its source."""
        for source in Path(self.root, "kb", "locale").rglob("*.po"):
            with source.open("rb") as file, source.with_suffix(".mo").open("wb") as compiled:
                write_mo(compiled, read_po(file))
