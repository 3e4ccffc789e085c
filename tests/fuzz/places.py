"""Whether the place that an error names is one of the user's input: what was written, or what may be written there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric.scenario.problems import schema_at
from tests.fuzz.scenarios import Case, steps_of


def known(path: str, case: Case, name: str = "fuzz.yml", *, written_alone: bool = False) -> bool:
    """'fuzz.yml: workload[0].size', or a file that the scenario names with a line of it.

    Parameters
    ----------
    written_alone : bool    a field that is left out is no place
    """
    file, _, place = path.partition(": ")
    if file.rpartition("/")[2] != name:
        return file.rpartition("/")[2] in case.files
    place, _, line = place.partition(", ")
    if line and not _in_a_file(line, case) and not _is_written(line, place, case) and place != "topology":
        return False
    if not place:
        return file == name
    here: Any = case.raw
    steps = steps_of(place)
    for number, written in enumerate(steps):
        step = written
        if isinstance(here, Mapping) and isinstance(written, str) and written.isdigit() and int(written) in here:
            step = int(written)  # a queue or a DSCP: YAML's keys are numbers
        if (isinstance(here, Mapping) and step in here) or (
            isinstance(here, list) and isinstance(step, int) and step < len(here)
        ):
            here = here[step]
        elif isinstance(here, list) or isinstance(step, int):
            return False
        else:  # left out: a field of the schema, at the place of its value
            return not written_alone and all(
                name == "kind" or str(name) in schema_at(steps[:before], case.raw).get("properties", {})
                for before, name in enumerate(steps)
                if before >= number
            )
    return True


def _in_a_file(line: str, case: Case) -> bool:
    return any(name in line for name in case.files)


def _is_written(file: str, place: str, case: Case) -> bool:
    """Whether the file that a problem names is what the scenario has at this place, in the scenario's folder."""
    here: Any = case.raw
    for step in steps_of(place):
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(here, str) and bool(here) and file.endswith(f"/{here}")
