"""The summary of a run, as text. Pure."""

from tests.chaos.run import Outcome

_WIDTH = 56


def summary(outcome: Outcome) -> str:
    """Return what happened, what was counted, and what is wrong."""
    result = outcome.result
    lines = [f"chaos: seed {outcome.seed}, faults for {outcome.seconds:.0f} s"]
    lines += ["", "faults"]
    lines += [_row(name, count) for name, count in sorted(outcome.faults.items())]
    lines += [_row("all", outcome.faults.total())]
    if outcome.stalled:
        lines += [_row("original found standing still, replaced", outcome.stalled)]
    lines += ["", "messages"]
    tries, failures = outcome.tries
    lines += [_row("sets sent", tries), _row("sets not acknowledged", failures)]
    lines += [_row(name, count) for name, count in result.counts.items()]
    lines += [_row(f"legal: {name}", count) for name, count in sorted(result.effects.items())]
    lines += ["", f"came again, by what ended the reader before ({_ratio(outcome)})"]
    lines += [_row(cause, count) for cause, count in sorted(result.repeats.items())]
    if outcome.errors:
        lines += ["", "raised by members of ours"]
        lines += [f"  {count:6}  {text[:140]}" for text, count in outcome.errors.most_common(8)]
    lines += ["", *(f"WRONG: {complaint}" for complaint in result.complaints())]
    lines.append("all promises kept" if result.good else "promises broken")
    return "\n".join(lines)


def _row(name: str, count: int) -> str:
    return f"  {name:<{_WIDTH}}{count:>9}"


def _ratio(outcome: Outcome) -> str:
    deliveries = outcome.result.counts.get("deliveries", 0)
    if not deliveries:
        return "nothing was delivered"
    return f"{outcome.result.repeats.total() / deliveries:.2%} of all deliveries"
