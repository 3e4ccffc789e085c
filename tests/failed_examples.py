"""Let a failing property keep the objects of its last failed example only.

A failed example's error refers to its frames, and they to it: what it made (tables of an emulator, tens of megabytes)
stays until Python's cyclic collector visits its oldest generation. Compiled kernels make few Python objects, so that is
rare, and a search for a smaller failure fails hundreds of times: it took gigabytes.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any


def forgetting(test: Callable[..., Any]) -> Callable[..., Any]:
    """The test, which clears the frames of one failed example when the next one begins: the last one's are reported."""
    failed: list[TracebackType] = []

    @functools.wraps(test)  # the search derives its seed from the source of what is wrapped
    def example(*args: Any, **given: Any) -> Any:  # noqa: ANN401  as the test takes and returns them
        while failed:
            _clear(failed.pop())
        try:
            return test(*args, **given)
        except Exception as error:
            failed.extend(_tracebacks(error))
            raise

    return example


def _clear(begin: TracebackType) -> None:
    traceback.clear_frames(begin)
    for frame, _ in traceback.walk_tb(begin):
        _ = frame.f_locals  # a reader's copy of the variables (Hypothesis makes one) is brought up to date: empty


def _tracebacks(error: BaseException | None) -> Iterator[TracebackType]:
    """Of the error, and of those that it was raised from or while handling."""
    seen: set[int] = set()
    left = [error]
    while left:
        found = left.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        left += [found.__cause__, found.__context__]
        if found.__traceback__ is not None:
            yield found.__traceback__
