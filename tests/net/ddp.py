#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ddp.py TRUTH ITERATIONS COMPUTE_MS - data-parallel training by PyTorch over gloo.

test-torch starts one process per host, with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
and GLOO_SOCKET_IFNAME.  If DDP_PACED is set to the folder of antiphase_ddp.py, that
module paces the job.  The neural network has 3.67 million parameters (14.7 MB); each of
n ranks sends 2 (n - 1) / n of that in an iteration.  Rank 0 writes TRUTH, a line for
each iteration: its number, its begin, and begin and end of the backward pass (which
all-reduces the gradients), in seconds of CLOCK_MONOTONIC.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    truth_file, iterations, compute_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1e3
    rank, n_ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dist.init_process_group("gloo", rank=rank, world_size=n_ranks)
    net = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 2048), nn.ReLU(),
                        nn.Linear(2048, 256))
    model = DistributedDataParallel(net, bucket_cap_mb=25)
    pacer = None
    if "DDP_PACED" in os.environ:
        sys.path.insert(0, os.environ["DDP_PACED"])
        import antiphase_ddp
        pacer = antiphase_ddp.register(model)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.randn(8, 1024)
    truth = open(truth_file, "w", buffering=1) if rank == 0 else None
    for i in range(iterations):
        begin_s = time.monotonic()
        time.sleep(compute_s)
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        backward_s = time.monotonic()
        loss.backward()
        end_s = time.monotonic()
        optimizer.step()
        if truth:
            truth.write("%d %.6f %.6f %.6f\n" % (i, begin_s, backward_s, end_s))
    if truth:
        truth.close()
    # All ranks must have the same parameters.
    mine = torch.cat([p.detach().flatten() for p in model.parameters()])
    first = mine.clone()
    dist.broadcast(first, 0)
    assert torch.equal(mine, first)
    print("sum %.6f" % mine.double().sum().item())
    if pacer:
        pacer.close()
    dist.destroy_process_group()


main()
