"""A folder for the files of one command, which a later call of the command replaces.

`.fabric-written` in the folder lists the files with their checksums, one line each as soon as the file is written, so
that a call that was killed leaves no file that the next one does not know. Nothing else is ever removed or overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_bytes
from fabric.runs.files import Sum, naming
from fabric.units import count
from fabric.units import listed as listed_names

LIST: Final = ".fabric-written"
"""Hidden: a folder of configurations is read without hidden files."""
_HEAD: Final = "written by: "
_SHOWN: Final = 3
_MAX_LIST_BYTES: Final = 64 * MIB


class OwnedFolder:
    """Takes a folder that is new, empty, or of an earlier call of the same command, whose files it removes.

    Parameters
    ----------
    path      the folder; it is made where it is absent
    option    such as '--prove-out', for errors
    command   such as 'fabric validate --prove-out': what the folder's list has to name

    more      keep the files of the earlier call, and add to them

    Raises: InputErrors as `check`; nothing is removed then.
    """

    def __init__(self, path: Path, option: str, command: str, *, more: bool = False) -> None:
        self.path = path
        with naming(path):
            listed = check(path, option, command)
            if more and listed:
                return
            for name in listed:
                (path / name).unlink(missing_ok=True)
            for folder in sorted({(path / name).parent for name in listed}, key=lambda it: -len(it.parts)):
                _remove_empty(folder, path)
            path.mkdir(parents=True, exist_ok=True)
            (path / LIST).write_text(f"{_HEAD}{command}\n", encoding="utf-8")

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file below the folder, once, and list it. Raises: InputErrors where another file has the name."""
        target = self.path / name
        data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        with naming(target):
            if target.exists():
                raise InputErrors(
                    "files", [Problem(str(target), "is not from this command", "move it, or name another folder")]
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            with (self.path / LIST).open("a", encoding="utf-8") as file:
                file.write(f"{sha256(data).hexdigest()}  {name}\n")
            target.write_bytes(data)
        return target

    def has(self, name: str) -> bool:
        """Whether a file has this name."""
        return (self.path / name).exists()


def check(path: Path, option: str, command: str) -> Mapping[str, str]:
    """Files of the earlier call, with their checksums; {} where there was none.

    Raises: InputErrors where the folder has files of others only, or a listed file was changed.
    """
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return {}
    if not path.is_dir():
        raise InputErrors("options", [Problem(option, f"{path} is no folder", "name a folder that is new or empty")])
    list_ = path / LIST
    text = read_bytes(list_, _MAX_LIST_BYTES).decode(errors="replace") if list_.is_file() else ""
    lines = text.splitlines()
    if lines[:1] != [f"{_HEAD}{command}"]:
        text = f"{path} holds files, and `{command}` did not write them"
        raise InputErrors("options", [Problem(option, text, "name a folder that is new or empty")])
    rows = (line.partition("  ") for line in lines[1:])
    listed = {name: checksum for checksum, _, name in rows if name and not _outside(name)}
    present = [name for name in listed if (path / name).is_file()]
    if changed := [name for name in present if Sum.of(path / name).sha256 != listed[name]]:
        text = f"{count(len(changed), 'file')} in {path} changed after it was written: {listed_names(changed, _SHOWN)}"
        raise InputErrors("options", [Problem(option, text, "keep or remove it, and name another folder")])
    return listed


def _outside(name: str) -> bool:
    """Whether a line of the list leads out of the folder: the list may have been edited."""
    return Path(name).is_absolute() or ".." in Path(name).parts


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
