"""What hatchling calls before it packs a wheel: it packs whatever `force_include` names."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)  # hatchling has loaded this file by its path
        from package.modules import NAME, write

        if version == "editable":  # modules in place have short names
            raise ValueError(f"{NAME} cannot be installed in place: use `pip install .`, or work in the checkout")
        self.folder = tempfile.TemporaryDirectory(prefix=f"{NAME}-")
        write(Path(self.root), copy := Path(self.folder.name, NAME))
        build_data["force_include"][str(copy)] = NAME

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()
