#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fidelity_join.py - whether a slow start of new flows explains how far the fluid model is from packets.

    fidelity.py --iterations 5 --json ... >table.json
    fidelity_join.py table.json

The candidate correction: a flow that begins has not its fair share at once.  Its weight grows linearly from 0 to 1
within TAU ms, and flows that send over a link share it by weights.  For each protocol in the table TAU is fitted to
one scenario (--fit), and the error is printed for the other pairs and triples, whose flows share one link.  OFF is
the fluid mean over that of packets, minus 1, in %.
"""
import argparse
import json

from fidelity_scenarios import BYTES_PER_S, scenarios

STEP_MS = 0.02
BYTES_PER_STEP = BYTES_PER_S * STEP_MS / 1e3


def mean_ms(specs, tau_ms, n_iterations):
    """Of all iterations of jobs (shift_ms, compute_ms, bytes), one flow each, over one link."""
    starts = [shift + compute for shift, compute, _ in specs]  # Of sending, ms.
    ends = [[shift] for shift, _, _ in specs]
    left = [size for _, _, size in specs]
    step = 0
    while any(len(end) <= n_iterations for end in ends):
        now = step * STEP_MS
        weights = {j: min(1, (now - start + STEP_MS) / tau_ms) if tau_ms else 1 for j, start in enumerate(starts)
                   if start <= now and len(ends[j]) <= n_iterations}
        total = sum(weights.values())
        for j, weight in weights.items():
            share = BYTES_PER_STEP * weight / total
            left[j] -= share
            if left[j] <= 1e-6:
                # The end is within this step.
                ends[j].append(now + STEP_MS * (1 + left[j] / share))
                starts[j], left[j] = ends[j][-1] + specs[j][1], specs[j][2]
        step += 1
    times = [b - a for end in ends for a, b in zip(end, end[1:])]
    return sum(times) / len(times)


def one_link_specs():
    """(shift_ms, compute_ms, bytes) of the jobs, by scenario whose jobs all share one link."""
    return {name: [(shift, compute, flows[0][2]) for shift, compute, flows in jobs]
            for name, _, jobs in scenarios() if name.startswith(("pair", "triple"))}


def report(protocol, measured, n_iterations, fit):
    specs = one_link_specs()

    def off(name, tau_ms):
        return 100 * (mean_ms(specs[name], tau_ms, n_iterations) / measured[name] - 1)

    tau_ms = min((t / 2 for t in range(41)), key=lambda tau: abs(off(fit, tau)))
    print(f"{protocol}: TAU {tau_ms} ms, fitted to {fit}")
    print(f"  {'SCENARIO':12} {'OFF':>6} {'WITH TAU':>9}")
    others = [name for name in measured if name in specs and name != fit]
    pairs = [(off(name, 0), off(name, tau_ms)) for name in others]
    for name, (without, corrected) in zip(others, pairs):
        print(f"  {name:12} {without:+6.1f} {corrected:+9.1f}")
    if pairs:
        print(f"  {'mean of |OFF|':12} {sum(abs(a) for a, _ in pairs) / len(pairs):5.1f} "
              f"{sum(abs(b) for _, b in pairs) / len(pairs):9.1f}")


def main():
    parser = argparse.ArgumentParser(description="does a slow start of new flows explain the errors?")
    parser.add_argument("table", help="the output of 'fidelity.py --json'")
    parser.add_argument("--fit", default="pair 10", metavar="SCENARIO", help="the one to fit (default: pair 10)")
    args = parser.parse_args()
    with open(args.table, encoding="utf-8") as file:
        table = json.load(file)
    for protocol in dict.fromkeys(row["protocol"] for row in table["rows"]):
        # Headers are in the fluid model of ns-3, so its means are compared without their share.
        measured = {row["scenario"]: row["packets"]["mean_ms"] * row["fluid"]["mean_ms"] /
                    row["fluid_payload"]["mean_ms"] for row in table["rows"] if row["protocol"] == protocol}
        if args.fit not in measured or args.fit not in one_link_specs():
            parser.error(f"--fit {args.fit}: no pair or triple of the table")
        report(protocol, measured, table["iterations"], args.fit)


if __name__ == "__main__":
    main()
