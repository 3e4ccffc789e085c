"""A packet-level emulator of data-centre network fabrics.

    import fabric

    result = fabric.run("incast", seed=3)       # a scenario file, a shipped scenario, YAML text, or a mapping
    print(result.headline, result.metrics["fct.p99_ns"])
    table = result.table("messages")            # Arrow; to_pandas("messages") for pandas

The names below are the stable interface (docs/api.md); other names may change between versions. They are loaded at
first use: importing this package imports no other module.

The distribution is called ``fabric-emulator`` and the command ``fabric``. An unrelated SSH tool on PyPI uses the
same import name; nothing here depends on it.
"""

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # like typing.TYPE_CHECKING for type checkers; importing typing would take longer than the rest
if TYPE_CHECKING:
    from fabric.api.configs import BufferProfile as BufferProfile
    from fabric.api.configs import Cause as Cause
    from fabric.api.configs import Evidence as Evidence
    from fabric.api.configs import Finding as Finding
    from fabric.api.configs import Fix as Fix
    from fabric.api.configs import Headroom as Headroom
    from fabric.api.configs import Suppressed as Suppressed
    from fabric.api.configs import Term as Term
    from fabric.api.configs import Verdict as Verdict
    from fabric.api.configs import headroom as headroom
    from fabric.api.configs import validate as validate
    from fabric.api.fixes import Change as Change
    from fabric.api.fixes import Fixes as Fixes
    from fabric.api.fixes import Unfixed as Unfixed
    from fabric.api.results import Expectation as Expectation
    from fabric.api.results import Explanation as Explanation
    from fabric.api.results import Result as Result
    from fabric.api.results import Sentence as Sentence
    from fabric.api.results import open_run as open_run
    from fabric.api.rollout import Rollout as Rollout
    from fabric.api.rollout import RolloutEdit as RolloutEdit
    from fabric.api.rollout import RolloutProof as RolloutProof
    from fabric.api.rollout import RolloutRemedy as RolloutRemedy
    from fabric.api.rollout import RolloutStep as RolloutStep
    from fabric.api.rollout import rollout as rollout
    from fabric.api.runs import Progress as Progress
    from fabric.api.runs import run as run
    from fabric.api.scenarios import Scenario as Scenario
    from fabric.api.scenarios import load as load
    from fabric.api.stepping import Emulator as Emulator
    from fabric.api.studies import StudyProgress as StudyProgress
    from fabric.api.studies import StudyResult as StudyResult
    from fabric.api.studies import open_study as open_study
    from fabric.api.studies import sweep as sweep
    from fabric.api.studies import tune as tune
    from fabric.api.whatif import Failure as Failure
    from fabric.api.whatif import WhatIf as WhatIf
    from fabric.api.whatif import whatif as whatif
    from fabric.errors import FabricError as FabricError
    from fabric.errors import InputErrors as InputErrors
    from fabric.errors import InvariantError as InvariantError
    from fabric.errors import Problem as Problem
    from fabric.errors import RunDirError as RunDirError
    from fabric.errors import RunInterruptedError as RunInterruptedError

__version__ = "0.1.0"
"""The only definition of the version, for the build, ``fabric --version`` and the manifest of every run."""

_WHERE = {
    "load": "fabric.api.scenarios",
    "run": "fabric.api.runs",
    "open_run": "fabric.api.results",
    "validate": "fabric.api.configs",
    "headroom": "fabric.api.configs",
    "rollout": "fabric.api.rollout",
    "sweep": "fabric.api.studies",
    "tune": "fabric.api.studies",
    "open_study": "fabric.api.studies",
    "whatif": "fabric.api.whatif",
    "Emulator": "fabric.api.stepping",
    "Scenario": "fabric.api.scenarios",
    "Progress": "fabric.api.runs",
    "Result": "fabric.api.results",
    "Sentence": "fabric.api.results",
    "Expectation": "fabric.api.results",
    "Explanation": "fabric.api.results",
    "StudyResult": "fabric.api.studies",
    "StudyProgress": "fabric.api.studies",
    "WhatIf": "fabric.api.whatif",
    "Failure": "fabric.api.whatif",
    "Verdict": "fabric.api.configs",
    "Finding": "fabric.api.configs",
    "Evidence": "fabric.api.configs",
    "Cause": "fabric.api.configs",
    "Fix": "fabric.api.configs",
    "Suppressed": "fabric.api.configs",
    "Fixes": "fabric.api.fixes",
    "Change": "fabric.api.fixes",
    "Unfixed": "fabric.api.fixes",
    "Rollout": "fabric.api.rollout",
    "RolloutStep": "fabric.api.rollout",
    "RolloutEdit": "fabric.api.rollout",
    "RolloutRemedy": "fabric.api.rollout",
    "RolloutProof": "fabric.api.rollout",
    "Headroom": "fabric.api.configs",
    "Term": "fabric.api.configs",
    "BufferProfile": "fabric.api.configs",
    "FabricError": "fabric.errors",
    "InputErrors": "fabric.errors",
    "Problem": "fabric.errors",
    "RunDirError": "fabric.errors",
    "InvariantError": "fabric.errors",
    "RunInterruptedError": "fabric.errors",
}
"""Public name -> module that defines it, in the order of docs/api.md."""

__all__ = [*_WHERE]  # noqa: PLE0604  the names are text


class _Package(ModuleType):
    """The package itself. Its functions keep their names where a subpackage has the same one (decisions/0043).

    Importing `fabric.validate.runner` makes the import system bind the subpackage to `fabric.validate`; without this
    class, whether `fabric.validate(...)` can be called would depend on other imports. In return, modules of
    such a subpackage are imported as `from fabric.validate import runner`, not `import fabric.validate.runner as ...`.
    """

    def __getattr__(self, name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_WHERE[name]), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_WHERE})


sys.modules[__name__].__class__ = _Package
