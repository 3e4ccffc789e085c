"""docs/compat.md: what each layer serves, and what it lacks, made from the layers themselves."""

from __future__ import annotations

from typing import Final

from telemetry.export.compat.model import Layer
from telemetry.export.compat.registry import LAYERS

_TOP: Final = """\
# Names of other exporters

Made from `telemetry/export/compat/` by `make docs`; edit it there.

`--compat NAME` of `fabric run --metrics`, `fabric serve`, `fabric export openmetrics` and `fabric export remote-write`
gives the same values under the names, labels, types and oddities of that exporter. Dashboards made for it work
unchanged, and show a storm whose truth is known:

```sh
fabric run scenarios/pause-storm.yml --out runs/storm
fabric export openmetrics runs/storm --compat rdma_exporter --out storm.om
```

One answer holds every device of the fabric, so `instance` is a label: scrape with `honor_labels: true`. What the model
does not have is absent and listed here. It is never a zero, which would say that a device looked and saw nothing.
"""


def markdown() -> str:
    """The page."""
    return _TOP + "".join(_section(it) for it in LAYERS.values())


def _section(layer: Layer) -> str:
    about = layer.about[:1].upper() + layer.about[1:]
    lines = [f"\n## `{layer.name}`\n\n{about}.\n\n| name | type | made of |\n|---|---|---|\n"]
    made: dict[str, list[str]] = {}
    kinds = {}
    for alias in layer.aliases:
        shown = alias.name.replace("{queue}", "{priority}").replace("{traffic_class}", "{priority}")
        shown = shown.replace("{priority}", "N")
        kinds[shown] = alias.kind
        source = f"`{alias.source}`"
        if source not in made.setdefault(shown, []):
            made[shown].append(source)
    lines += [f"| `{name}` | {kinds[name]} | {' + '.join(sources)} |\n" for name, sources in made.items()]
    if layer.absent:
        lines.append("\n| absent | because |\n|---|---|\n")
        lines += [f"| {_codes(it.names)} | {it.reason} |\n" for it in layer.absent]
    return "".join(lines)


def _codes(names: str) -> str:
    return ", ".join(f"`{it}`" if " " not in it and "_" in it else it for it in names.split(", "))
