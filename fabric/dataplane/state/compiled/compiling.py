"""Time spent in the compiler, so that a wait for it is not mistaken for a slow machine.

Loading kernels from the disk cache is not compiling and is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from numba.core import event

_KIND: Final = "numba:compile"


class CompileClock(event.Listener):  # type: ignore[misc]  # numba has no types
    """Counts wall clock time inside Numba's compiler, of all threads together, within the context.

    A kernel that is compiled for its caller is part of the caller's time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._depth = 0  # Numba compiles one function at a time, under a lock
        self._since_s = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """Time so far, including the present compilation."""
        return self._seconds + (self._clock() - self._since_s if self._depth else 0.0)

    @property
    def is_compiling(self) -> bool:
        """Whether a compilation is running."""
        return self._depth > 0

    def __enter__(self) -> Self:
        event.register(_KIND, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister(_KIND, self)

    def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002  Numba's own
        """A compilation begins."""
        if self._depth == 0:
            self._since_s = self._clock()
        self._depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ANN401, ARG002  Numba's own
        """A compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += self._clock() - self._since_s
