#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""collectives.py - the run time and peak memory of 'antiphase sim run' with jobs of large
language models: one on 16,384 GPUs, and 100 of mixed parallelism on 4,096.

With --write FOLDER it writes the scenarios there and runs nothing.
"""
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, os.environ.get("B", "build/release"), "antiphase-sim")
FABRIC = """[sim]
iterations = 10
[fabric]
generate = leaf-spine --leaves {} --hosts-per-leaf 32 --spines 16 --slots 8 --gbps 400 \
--oversubscription 2
"""


def segments(microbatches, stages, experts):
    """Forward and backward of each microbatch, then the gradients and parameters."""
    for _ in range(2 * microbatches):
        yield "compute 12 ms"
        if stages > 1:
            yield "send 16 MB over pp"
        if experts > 1:
            yield "alltoall 64 MB over ep"
    yield "reducescatter 1500 MB over dp"
    yield "allgather 1500 MB over dp"
    yield "allreduce 4 B over dp halving-doubling"


def job(name, hosts, tp, pp, ep, microbatches, more=()):
    dp = 8 * len(hosts) // (tp * pp)
    lines = [f"[job {name}]", "hosts = " + ",".join(f"h{h}" for h in hosts), "slots = 8",
             f"tp = {tp}", f"pp = {pp}", f"dp = {dp}", f"ep = {min(ep, dp)}", *more]
    lines += [f"segment = {text}" for text in segments(microbatches, pp, min(ep, dp))]
    return "\n".join(lines) + "\n"


def one_job():
    return FABRIC.format(64) + job("llm", range(2048), 8, 8, 8, 8)


def many_jobs():
    """100 jobs on 512 hosts: 4 to 8 hosts each, drawn from all leaves."""
    rng = random.Random(1)
    hosts = list(range(512))
    rng.shuffle(hosts)
    text = FABRIC.format(16)
    for i in range(100):
        n = 8 if i < 28 else 4
        mine, hosts = sorted(hosts[:n]), hosts[n:]
        tp = rng.choice([1, 2, 4, 8])
        pp = rng.choice([1, 2, 4])
        text += job(f"j{i}", mine, tp, pp, rng.choice([1, 2, 4, 8]),
                    rng.choice([2, 4, 8]), ["jitter = 1 %"])
    return text


CASES = [("16384-gpus", one_job, "10 s, 1000 MB"), ("4096-gpus", many_jobs, "60 s")]


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        for name, make, _ in CASES:
            with open(os.path.join(sys.argv[2], name + ".ini"), "w") as file:
                file.write(make())
        return 0
    print(f"{'SIM RUN':12} {'JOBS':>5} {'SECONDS':>8} {'CPU S':>8} {'PEAK MB':>8}  BAR")
    with tempfile.TemporaryDirectory() as folder:
        for name, make, bar in CASES:
            path = os.path.join(folder, name + ".ini")
            text = make()
            with open(path, "w") as file:
                file.write(text)
            begin = time.monotonic()
            child = subprocess.Popen([SIM, "run", path, "--json"],
                                     stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
            said = child.stderr.read()
            _, status, usage = os.wait4(child.pid, 0)
            if status != 0:
                print(said, end="", file=sys.stderr)
                return 1
            print(f"{name:12} {text.count('[job '):5} {time.monotonic() - begin:8.2f} "
                  f"{usage.ru_utime + usage.ru_stime:8.2f} "
                  f"{usage.ru_maxrss / 1024:8.1f}  {bar}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
