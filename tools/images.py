"""`python -m tools.images`: check that the container images of docker-compose.yml and deploy/Dockerfile are pinned.

A tag can be moved to other contents; a digest identifies the contents. Every image is named NAME:TAG@sha256:DIGEST.

    python -m tools.images          lists them; exit 1 where one has no digest
    python -m tools.images --pin    asks the registry for the digest that each tag has now, and writes it into the files

--pin needs one of the programs crane, skopeo or docker (buildx), and the registry. It changes nothing where one of the
images cannot be resolved.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.requirements import ROOT

FILES: Final = ("docker-compose.yml", "deploy/Dockerfile")
LOCAL: Final = "fabric-emulator:local"
"""The image that docker-compose.yml builds."""
_IMAGE: Final = re.compile(r"^(?:\s*image:|FROM)\s+(?P<reference>[^\s]+)", re.MULTILINE)
_PINNED: Final = re.compile(r"^(?P<tagged>[^@\s]+:[^@:\s/]+)@(?P<digest>sha256:[0-9a-f]{64})$")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
ASK: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "crane": lambda tagged: ["crane", "digest", tagged],
    "skopeo": lambda tagged: ["skopeo", "inspect", "--no-tags", "--format", "{{.Digest}}", f"docker://{tagged}"],
    "docker": lambda tagged: ["docker", "buildx", "imagetools", "inspect", "--format", "{{json .Manifest}}", tagged],
}
"""Program -> command for the digest of an image index, which covers all platforms."""


@dataclass(frozen=True, slots=True)
class Image:
    """One mention of an image."""

    file: str
    reference: str

    @property
    def tagged(self) -> str:
        """NAME:TAG."""
        return self.reference.partition("@")[0]

    @property
    def pinned(self) -> bool:
        """Whether it has a tag and a digest."""
        return _PINNED.match(self.reference) is not None


def images(root: Path = ROOT) -> list[Image]:
    """Every image that is fetched, in the order of the files."""
    found = []
    for name in FILES:
        text = (root / name).read_text(encoding="utf-8")
        stages = set(re.findall(r"^FROM\s+\S+\s+AS\s+(\S+)", text, re.MULTILINE | re.IGNORECASE))
        found += [
            Image(name, match["reference"])
            for match in _IMAGE.finditer(text)
            if match["reference"] not in {LOCAL, *stages}
        ]
    return found


def pin(root: Path = ROOT) -> list[str]:
    """Write the present digests of the registry. Returns: the changes. Raises: SystemExit where one is unknown."""
    program = next((name for name in ASK if shutil.which(name)), None)
    if program is None:
        sys.exit(f"error: none of {', '.join(ASK)} is here to ask a registry")
    tags = sorted({it.tagged for it in images(root)})
    digests = {tagged: _ask(program, tagged) for tagged in tags}
    unknown = [f"  {tagged}: {digest}" for tagged, digest in digests.items() if not _DIGEST.fullmatch(digest)]
    if unknown:
        sys.exit("error: the registry did not give a digest for\n" + "\n".join(unknown))
    changed = []
    for name in FILES:
        path = root / name
        text = before = path.read_text(encoding="utf-8")
        for it in images(root):
            now = f"{it.tagged}@{digests[it.tagged]}"
            if it.file == name and it.reference != now:
                text = (
                    text.replace(it.reference, now)
                    if it.pinned
                    else re.sub(rf"{re.escape(it.reference)}(?=\s)", now, text)
                )
                changed.append(f"{name}: {it.reference} -> {now}")
        if text != before:
            path.write_text(text, encoding="utf-8")
    return list(dict.fromkeys(changed))


def _ask(program: str, tagged: str) -> str:
    done = subprocess.run(ASK[program](tagged), capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"{program} exits with {done.returncode}"])[-1]
    output = done.stdout.strip()
    if program == "docker":
        output = str(json.loads(output)["digest"])
    return output


def main() -> int:
    """List or pin."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.images", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pin", action="store_true", help="ask the registry, and write the digests")
    if parser.parse_args().pin:
        print("\n".join(pin()) or "every image has the digest that its tag has now")
        return 0
    found = images()
    for it in found:
        print(f"{it.file}: {it.reference}{'' if it.pinned else '   not fixed: no digest'}")
    return int(not all(it.pinned for it in found))


if __name__ == "__main__":
    sys.exit(main())
