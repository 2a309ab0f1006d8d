#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""events_gloo.py RANK STORE [SPANS] - one of two processes that run 20 all-reduces over
gloo.  Rank 0 writes the begin and end of each, in seconds of CLOCK_MONOTONIC."""
import sys
import time

import torch
import torch.distributed as dist

rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
gradients = torch.ones(1 << 18)
spans = []
for _ in range(20):
    time.sleep(0.02)
    begin = time.monotonic()
    dist.all_reduce(gradients)
    spans.append((begin, time.monotonic()))
if rank == 0:
    with open(sys.argv[3], "w", encoding="ascii") as out:
        out.writelines("%.6f %.6f\n" % span for span in spans)
