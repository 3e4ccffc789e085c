"""Is the headroom of these links large enough, and for which cable is it not?"""

from __future__ import annotations

import fabric

LINKS = (("leaf1 to host1", "100G", "5m"), ("leaf1 to spine1", "400G", "40m"), ("dci1 to dci2", "400G", "300m"))
XOFF_BYTES = 100_000


def main() -> None:
    """Print the terms of the longest link, and one line per link."""
    for name, speed, cable in LINKS:
        found = fabric.headroom(speed, cable, mtu=9216, xoff=XOFF_BYTES)
        worst = (
            "above every bound"
            if not found.below
            else (f"below bound {found.below[0]}: {found.meaning[found.below[0]]}")
        )
        print(f"{name:16} {speed} {cable:>5}  needs {found.bounds['c']:>7} B, has {XOFF_BYTES} B, {worst}")

    print("\nwhat 400G over 300m needs, in bytes:")
    for term in fabric.headroom("400G", "300m").terms:
        print(f"  {term.name:18} {term.bytes:>8}  {term.rule}")

    vendor = fabric.headroom("400G", "40m", platform="sn4700")
    print(
        f"\n{vendor.platform} at 40m: formula xoff {vendor.formula.xoff_bytes} B, bounds not met: "
        f"{', '.join(vendor.below) or 'none'}"
    )


if __name__ == "__main__":
    main()
