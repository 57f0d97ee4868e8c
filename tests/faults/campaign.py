"""Campaigns: one operation, an error at each of its points, and what it may leave.

The state before and the state after are those of twins that did not make the call, or made it. All
have fixed keys, so equal states have equal releases, now and after further updates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.injection import (
    Between,
    HungError,
    Injector,
    Outcome,
    Points,
    sample,
    watched,
)

__all__ = ["Operation", "Result", "run"]


@dataclass(frozen=True)
class Operation:
    """A public call on a live object.

    Args:
        family: class of the object.
        name: of the call.
        make: returns the object, with some events.
        call: the operation.
        observe: returns what can be read of the object, comparable; it may raise ClosedError.
        proceed: makes further updates, as a caller does that goes on.
        reads: True if the call changes nothing; then one object serves all points.
        partial: calls that may stand for an interrupted one, such as only the ``close`` of a block.
        repeatable: True if the caller sees whether the call counted, and repeats it if not.
        callbacks: modules of callbacks that have points too.
        instead: an error that may be raised for an OSError, whose text may contain an item.
    """

    family: str
    name: str
    make: Callable[[], Any]
    call: Callable[[Any], object]
    observe: Callable[[Any], object]
    proceed: Callable[[Any], object]
    reads: bool = False
    partial: tuple[Callable[[Any], object], ...] = ()
    repeatable: bool = True
    callbacks: tuple[str, ...] = ()
    instead: type[Exception] | None = None

    def points(self, between: Between) -> Points:
        """Return where errors are injected.

        Args:
            between: bytecodes or lines.
        """
        return Points(between=between, modules=("lazysketch", *self.callbacks))

    def __str__(self) -> str:
        return f"{self.family}: {self.name}"


@dataclass
class Result:
    """What a campaign found."""

    operation: str
    points: int = 0
    injected: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, kind: str, outcome: Outcome[object], *, at: int) -> None:
        """Count a violation and keep the first ones.

        Args:
            kind: what is wrong.
            outcome: of the interrupted call.
            at: number of the point.
        """
        self.violations[kind] += 1
        if len(self.examples) < 10:
            error = type(outcome.error).__name__
            self.examples.append(f"{kind} after {error} at point {at}, {outcome.place}")


def run(
    operation: Operation, injector: Injector, *, most: int | None = None, seed: int = 0
) -> Result:
    """Inject every error at every point of an operation.

    Args:
        operation: the call.
        injector: raises the errors.
        most: number of points, at most; all if None.
        seed: chooses the points, if not all.
    """
    result, errors = Result(str(operation)), injector.errors
    subject = operation.make()
    if operation.reads:
        operation.call(subject)
        states = [_Twin(_seen(operation, subject), None)]
    else:
        calls = (lambda _: None, operation.call, *operation.partial)
        states = [_twin(operation, call) for call in calls]
    subject = subject if operation.reads else operation.make()
    passed = watched(
        lambda: injector.interrupted(lambda: operation.call(subject), at=0, error=errors[0])
    )
    if passed.error is not None:
        raise passed.error
    result.points = passed.points
    for at in sample(passed.points, most=most or passed.points or 1, seed=seed):
        for number, error in enumerate(errors):
            # A caller that can see that nothing was counted repeats the call, every other time.
            repeats = operation.repeatable and (at + number) % 2 == 0
            subject = subject if operation.reads else operation.make()
            case = _Case(operation, injector, at, error, repeats, result)
            try:
                case.judge(subject, states)
            except HungError:
                result.violations["hangs"] += 1
                result.examples.append(f"hangs after {error.__name__} at point {at}")
                return result  # its threads go on; more of them would slow everything down
    return result


@dataclass(frozen=True)
class _Twin:
    now: object
    later: object


def _twin(operation: Operation, call: Callable[[Any], object]) -> _Twin:
    subject = operation.make()
    call(subject)
    return _Twin(now=_seen(operation, subject), later=_seen_later(operation, subject))


def _seen(operation: Operation, subject: Any) -> object:
    """Return what can be read; the class of the error if nothing can."""
    try:
        return operation.observe(subject)
    except Exception as error:
        return type(error).__name__


def _seen_later(operation: Operation, subject: Any) -> object:
    try:
        found = operation.proceed(subject)
    except Exception as error:
        found = type(error).__name__
    return found, _seen(operation, subject)


@dataclass(frozen=True)
class _Case:
    operation: Operation
    injector: Injector
    at: int
    error: type[BaseException]
    repeats: bool
    result: Result

    def judge(self, subject: Any, states: list[_Twin]) -> None:
        """Interrupt the call, and compare with the state before it, after it, and others."""
        outcome = watched(
            lambda: self.injector.interrupted(
                lambda: self.operation.call(subject), at=self.at, error=self.error
            )
        )
        if not outcome.place:
            self.result.violations["points vary"] += 1
            return
        self.result.injected += 1
        if outcome.error is not None and not self.injector.is_injected(outcome.error):
            self.result.add("another error", outcome, at=self.at)
        elif not self._is_expected(outcome.error):
            self.result.add("wrong class", outcome, at=self.at)
        # In a thread of its own: a lock that is still held would stop it.
        now = watched(lambda: _seen(self.operation, subject))
        twins = [state for state in states if state.now == now]
        if not twins:
            self.result.add("half applied", outcome, at=self.at)
        elif not self.operation.reads:
            self._go_on(subject, outcome, twins, states)

    def _is_expected(self, error: BaseException | None) -> bool:
        if error is None or type(error) is self.error:
            return True
        return self.error is OSError and type(error) is self.operation.instead

    def _go_on(
        self,
        subject: Any,
        outcome: Outcome[object],
        twins: list[_Twin],
        states: list[_Twin],
    ) -> None:
        before, after = states[:2]
        if outcome.error is None and after not in twins:
            self.result.add("error was lost", outcome, at=self.at)
        if self.repeats and twins == [before]:
            watched(lambda: self.operation.call(subject))
            twins = [after]
            if watched(lambda: _seen(self.operation, subject)) != after.now:
                self.result.add("wrong when repeated", outcome, at=self.at)
        later = watched(lambda: _seen_later(self.operation, subject))
        if all(twin.later != later for twin in twins):
            self.result.add("wrong later", outcome, at=self.at)
