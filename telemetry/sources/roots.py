"""Root causes of a finished run, from its recorded samples."""

from __future__ import annotations

from fabric.controlplane.network.run import ControlRun
from fabric.runs.rundir import RunDir
from telemetry.alerting.rules import NOMINAL_DILATION
from telemetry.diagnosis.diagnose import METRICS, diagnose
from telemetry.diagnosis.root import Root
from telemetry.diagnosis.seen import IDEAL, missing_in, read_by
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES
from telemetry.sources.recorded import store_of


def roots_of(run: RunDir, view: str = IDEAL, control: ControlRun | None = None) -> list[Root]:
    """Root causes of a run, with the counters that a view has (a name in PROFILES). Raises: RunDirError.

    A view's periods are in nominal time: NOMINAL_DILATION seconds of a switch's clock in a simulated second.
    `control`: control_of(run), where it is known already.
    """
    if view == IDEAL:
        return diagnose(store_of(run, METRICS, control=control), run.fabric)
    poller = Poller(PROFILES[view], run.fabric, NOMINAL_DILATION, int(run.manifest["seed"]))
    return diagnose(store_of(run, read_by(view), poller, control), run.fabric, missing_in(view))
