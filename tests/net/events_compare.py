#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""events_compare.py EVENTS SPANS SOURCE LAUNCH BYTES [LIMIT_MS] - compares events with
the begins and ends in SPANS (seconds).  EVENTS may have several processes; the one that
fits best is compared.

A program takes its own begin before the call and its own end after it, and the kernel
may preempt it in between.  So 19 of 20 begins and 19 of 20 ends must be within LIMIT_MS
(default 1) of the program's own.  An event may never begin before or end after the
program's own times, except by the clock's resolution in the text."""
import sys

events_file, spans_file = sys.argv[1:3]
source, launch, size = map(int, sys.argv[3:6])
limit = float(sys.argv[6]) / 1e3 if len(sys.argv) > 6 else 1e-3
spans = [tuple(map(float, line.split()[:2])) for line in open(spans_file)]
by_pid = {}
for line in open(events_file):
    field = line.split()
    by_pid.setdefault(field[0], []).append(
        (float(field[3]), float(field[4]), int(field[1]), int(field[2]), int(field[5])))


def misfit(events):
    pairs = list(zip(events, spans))
    return sum(abs(m[0] - s[0]) + abs(m[1] - s[1]) for m, s in pairs) / max(len(pairs), 1)


events = min(by_pid.values(), key=misfit, default=[])
print(f"count {len(events)} of {len(spans)}")
begins = sorted(m[0] - s[0] for m, s in zip(events, spans))
ends = sorted(s[1] - m[1] for m, s in zip(events, spans))
if events:
    at = int(0.95 * (len(events) - 1))
    print(f"within: begin {begins[len(begins) // 2] * 1e6:.0f} us median, {begins[at] * 1e6:.0f} us at 95 %;"
          f" end {ends[len(ends) // 2] * 1e6:.0f} us, {ends[at] * 1e6:.0f} us")
    if len(events) == len(spans) and begins[0] > -5e-6 and ends[0] > -5e-6 \
            and begins[at] < limit and ends[at] < limit:
        print("ok time")
    if all(m[2:] == (source, launch, size) for m in events):
        print("ok fields")
