"""The next points of a search, by Optuna.

Rules
1. Points are asked for in batches of `tune.at_once` and told in their order, and each batch has a sampler with another
   seed. So the sequence of points follows from the study and the results alone: not from the number of workers, and not
   from interruptions. To resume is to ask again, with the results that are known.
2. optuna.journal is Optuna's own storage of the search, for its tools. It is made again on resume: what counts are the
   runs of the study's folder.
3. Constraints are told as the amount by which they are broken, 0 or less: met (Deb et al., IEEE TEC 6(2), 2002).

Sources: Bergstra et al., NIPS 2011 (TPE); Deb et al. 2002 (NSGA-II); Hansen, arXiv 1604.00772 (CMA-ES); Hutter, Hoos,
Leyton-Brown, ICML 2014 (fANOVA).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fabric.extras import require
from fabric.studies.design import combined
from fabric.studies.levels import Levels, Value
from fabric.studies.plan import StudyPlan

JOURNAL: Final = "optuna.journal"
_BREACH: Final = "breach"
_SEED_STEP: Final = 100_003


class Search:
    """One search in Optuna.

    Parameters
    ----------
    plan : StudyPlan      with tune and objectives
    folder : Path         where a new optuna.journal is written
    """

    def __init__(self, plan: StudyPlan, folder: Path) -> None:
        assert plan.study.tune is not None  # noqa: S101  load_study(search=True) requires it
        self._optuna = require("optuna")
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        if plan.study.tune.sampler == "cmaes":
            require("cmaes")  # Optuna loads it where it is first needed
        self._plan = plan
        self._rule = plan.study.tune
        self._goals = list(plan.study.objectives.values())
        self._batches = 0
        for name in (JOURNAL, f"{JOURNAL}.lock"):
            (folder / name).unlink(missing_ok=True)
        journal = require("optuna.storages.journal")
        storage = self._optuna.storages.JournalStorage(journal.JournalFileBackend(str(folder / JOURNAL)))
        self._study = self._optuna.create_study(
            study_name=plan.study.name,
            storage=storage,
            sampler=self._sampler(),
            directions=["minimize" if goal == "min" else "maximize" for goal in self._goals],
            pruner=self._optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=0),
        )
        if plan.study.baseline:
            self._study.enqueue_trial({name: self._parameter(plan.levels[name], it) for name, it in self._baseline()})

    def _baseline(self) -> list[tuple[str, Value]]:
        found = [(name, self._plan.levels[name].named(given)) for name, given in self._plan.study.baseline.items()]
        return [(name, value) for name, value in found if value is not None]

    def ask(self, count: int) -> list[tuple[Any, dict[str, Value]]]:
        """The next trials, each with the values of its parameters."""
        self._study.sampler = self._sampler()
        self._batches += 1
        space = {name: self._distribution(levels) for name, levels in self._plan.levels.items()}
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # features that Optuna calls experimental
            for _ in range(count):
                trial = self._study.ask(space)
                values = {name: self._value(self._plan.levels[name], trial.params[name]) for name in space}
                found.append((trial, combined(self._plan.levels, values)))
        return found

    def should_stop(self, trial: Any, value: float, step: int) -> bool:  # noqa: ANN401  optuna.Trial
        """Whether a trial of a search for one objective is worse than half of the others were after as many runs."""
        if len(self._goals) > 1:
            return False
        trial.report(value, step)
        return bool(trial.should_prune())

    def tell(self, trial: Any, values: Sequence[float] | None, breach: float, *, pruned: bool = False) -> None:  # noqa: ANN401
        """The result of a trial; None where it has none, because its runs failed."""
        state = self._optuna.trial.TrialState
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if values is None:
                self._study.tell(trial, state=state.FAIL)
                return
            trial.set_user_attr(_BREACH, breach)
            if pruned:
                self._study.tell(trial, state=state.PRUNED)
            else:
                self._study.tell(trial, list(values))

    def importances(self) -> dict[str, dict[str, float]]:
        """Objective -> parameter -> share of the objective's variance, by fANOVA; {} with too few trials."""
        require("sklearn")
        importance = self._optuna.importance
        found = {}
        names = list(self._plan.study.objectives)
        for place, name in enumerate(names):
            try:
                shares = importance.get_param_importances(
                    self._study,
                    evaluator=importance.FanovaImportanceEvaluator(seed=self._rule.seed),
                    target=lambda trial, place=place: trial.values[place],
                )
            except (ValueError, RuntimeError):  # fewer than two trials, or all alike
                continue
            found[name] = {parameter: float(share) for parameter, share in shares.items()}
        return found

    def _sampler(self) -> Any:  # noqa: ANN401  an Optuna sampler
        seed = (self._rule.seed * _SEED_STEP + self._batches) % 2**32
        samplers = self._optuna.samplers
        constraints = _constraints if self._plan.study.constraints else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            match self._rule.sampler:
                case "tpe":
                    start = min(10, max(self._rule.trials // 4, 2))
                    return samplers.TPESampler(
                        seed=seed, n_startup_trials=start, multivariate=True, constraints_func=constraints
                    )
                case "nsga2":
                    size = min(50, max(self._rule.trials // 6, self._rule.at_once, 4))
                    return samplers.NSGAIISampler(seed=seed, population_size=size, constraints_func=constraints)
                case "cmaes":
                    return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
                case _:
                    return samplers.RandomSampler(seed=seed)

    def _distribution(self, levels: Levels) -> Any:  # noqa: ANN401  an Optuna distribution
        kinds = self._optuna.distributions
        if not levels.is_range:
            if levels.kind == "text":
                return kinds.CategoricalDistribution([it.shown for it in levels.cases])
            return kinds.IntDistribution(0, len(levels.cases) - 1)  # listed numbers have an order
        if levels.kind == "whole":
            return kinds.IntDistribution(int(levels.low), int(levels.high), log=levels.log)
        return kinds.FloatDistribution(float(levels.low), float(levels.high), log=levels.log)

    @staticmethod
    def _value(levels: Levels, found: Any) -> Value:  # noqa: ANN401  of a distribution
        if levels.is_range:
            return levels.of(found)
        if levels.kind == "text":
            return next(it for it in levels.cases if it.shown == found)
        return levels.cases[int(found)]

    @staticmethod
    def _parameter(levels: Levels, value: Value) -> Any:  # noqa: ANN401  of a distribution
        if levels.is_range:
            return value.number if levels.kind == "whole" else float(value.number or 0)
        return value.shown if levels.kind == "text" else levels.cases.index(value)


def breach_of(plan: StudyPlan, rows: Sequence[Mapping[str, float | None]]) -> float:
    """By how much the worst run breaks the constraints, as a share of their limits; 0: all are met.

    Parameters
    ----------
    rows : metric -> value in base units, of each run
    """
    worst = 0.0
    for it in plan.study.constraints:
        for row in rows:
            value = row[it.metric]
            if value is None:
                worst = max(worst, 1.0)
            elif not it.holds(value):
                worst = max(worst, abs(value - it.value) / max(abs(it.value), 1.0), 1e-9)
    return worst


def _constraints(trial: Any) -> tuple[float]:  # noqa: ANN401  optuna.FrozenTrial
    return (float(trial.user_attrs.get(_BREACH, 0.0)),)
