"""Collectives of jobs and traces by algorithms of fabric/collectives/registry.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabric.collectives.registry import ALGORITHMS, CHOOSERS, build, problems
from fabric.collectives.schedule import Request
from fabric.collectives.transfers import Transfers
from fabric.errors import InputErrors, Problem
from fabric.jobs.algorithms import DEFAULT_EXCHANGE, DEFAULT_REDUCTION, NCCL_CHOOSES, UNKNOWN, AlgorithmRule, GroupShape
from fabric.workload.collective import cut_to

STAGE = "building the collectives of the job"


class NamedAlgorithms:
    """Builds collectives by rules; what no rule matches by two algorithms.

    `used` has the rules that carried out an operation.
    """

    def __init__(
        self, reductions: str = DEFAULT_REDUCTION, exchanges: str = DEFAULT_EXCHANGE,
        rules: Sequence[AlgorithmRule] = (),
    ) -> None:  # fmt: skip
        self.reductions, self.exchanges, self.rules = reductions, exchanges, tuple(rules)
        self.used: set[int] = set()

    def rule(self, operation: str, kind: str = "") -> int | None:
        """Number of the rule that decides; None: there is none."""
        found = [number for number, it in enumerate(self.rules) if _matches(it, operation, kind)]
        return found[-1] if found else None

    def algorithm(self, operation: str, kind: str = "") -> str:
        """The name of an operation's algorithm; auto where NCCL's model chooses one for each size."""
        number = self.rule(operation, kind)
        if number is not None:
            return self.rules[number].algorithm
        return self.exchanges if operation == "all-to-all" else self.reductions

    def __call__(self, operation: str, n_ranks: int, size_bytes: int, group: GroupShape = UNKNOWN, /) -> Transfers:
        """As a CollectiveBuilder. Raises: InputErrors where a rule's algorithm cannot carry out the operation."""
        number = self.rule(operation, group.kind)
        request = Request(operation, n_ranks, size_bytes, element_bytes=1)
        if number is None:
            return build(self.algorithm(operation), request).transfers
        self.used.add(number)
        rule = self.rules[number]
        request = replace(request, node_size=group.node_size)
        name = rule.algorithm
        where = f"collectives[{number}]"
        if name in CHOOSERS:
            try:
                chosen = CHOOSERS[name](request, rule.generation)
            except InputErrors as error:
                raise InputErrors(STAGE, [replace(it, path=f"{where}.{it.path}") for it in error.problems]) from error
            return build(chosen.algorithm, chosen.request).transfers
        if not ALGORITHMS[name].nodes:
            request = replace(request, node_size=1)
        request = cut_to(name, replace(request, channels=rule.channels), rule.chunk_bytes)
        found = problems(name, request)
        if found:
            what = f"{operation} of {n_ranks} ranks of {group.kind or 'a group'}, {group.node_size} in a node"
            hint = "name groups or operations to which the rule is to apply, or another algorithm"
            raise InputErrors(STAGE, [Problem(where, f"{what}: {text}", hint) for text, _ in found])
        return build(name, request).transfers

    def unused(self) -> list[Problem]:
        """A problem for each rule that carried out nothing."""
        return [
            Problem(f"collectives[{number}]", "no operation of the job is carried out by it", "remove or correct it")
            for number in range(len(self.rules))
            if number not in self.used
        ]


def _matches(rule: AlgorithmRule, operation: str, kind: str) -> bool:
    if rule.groups and kind not in rule.groups:
        return False
    return operation in (rule.operations or able(rule.algorithm))


def able(algorithm: str) -> tuple[str, ...]:
    """Operations that an algorithm carries out; for auto those for which NCCL's model chooses."""
    if algorithm in CHOOSERS:
        return NCCL_CHOOSES
    return ALGORITHMS[algorithm].operations


def builder(reductions: str = DEFAULT_REDUCTION, exchanges: str = DEFAULT_EXCHANGE) -> NamedAlgorithms:
    """One algorithm for reductions and gathers, one for all-to-all."""
    return NamedAlgorithms(reductions, exchanges)
