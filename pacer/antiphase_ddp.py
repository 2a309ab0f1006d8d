# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DistributedDataParallel, paced by antiphase.

    import antiphase_ddp
    model = DistributedDataParallel(...)
    antiphase_ddp.register(model)

One line more, in every rank, and rank 0 tells the collector of its host when each
iteration begins to reduce its gradients, and holds the next one back when it is asked to:
at most one period of the job.  In all other ranks, without the library, and without a
collector, gradients are reduced as they would be anyway.  The environment has the last
word: see antiphase-pacer(7).

For jobs whose collectives the library cannot see when it is preloaded: gloo, and NCCL
linked in statically.  Do not preload it as well.

Needs libantiphase-pacer.so, where the loader finds it or at $ANTIPHASE_PACER.  With NCCL
the times are those of enqueueing, and a wait holds up what is enqueued after it.
"""
import ctypes
import os

__all__ = ["register", "Pacer"]


class Pacer:
    """The library's five functions, or none of them if there is no library."""

    def __init__(self, rank, n_ranks, job=None, library=None):
        self._lib = None
        name = library or os.environ.get("ANTIPHASE_PACER") or "libantiphase-pacer.so"
        if rank != 0:
            return
        try:
            lib = ctypes.CDLL(name)
        except OSError:
            return
        lib.antiphase_open.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32]
        lib.antiphase_iteration.restype = ctypes.c_int64
        lib.antiphase_enter.argtypes = [ctypes.c_uint64]
        if lib.antiphase_open(job.encode() if job else None, rank, n_ranks):
            self._lib = lib

    @property
    def is_on(self):
        return self._lib is not None

    def iteration(self):
        """An iteration begins to communicate; waits, and returns for how many ns."""
        return self._lib.antiphase_iteration() if self._lib else 0

    def enter(self, n_bytes):
        if self._lib:
            self._lib.antiphase_enter(n_bytes)

    def exit(self):
        if self._lib:
            self._lib.antiphase_exit()

    def close(self):
        if self._lib:
            self._lib.antiphase_close()
        self._lib = None


def register(model, hook=None, state=None, job=None, library=None):
    """Paces 'model', a DistributedDataParallel; returns the Pacer.

    'hook' and 'state' are the communication hook that reduces the gradients, as in
    register_comm_hook(); by default, what DDP does without one.
    """
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    group = getattr(model, "process_group", None)
    pacer = Pacer(dist.get_rank(group), dist.get_world_size(group), job, library)
    reduce = hook or default_hooks.allreduce_hook
    state = state if hook else group
    def finish(future):
        pacer.exit()
        value = future.value()
        return value[0] if isinstance(value, (list, tuple)) else value

    def paced(state, bucket):
        if not pacer.is_on:
            return reduce(state, bucket)
        tensor = bucket.buffer() if hasattr(bucket, "buffer") else bucket.get_tensor()
        index = bucket.index() if hasattr(bucket, "index") else bucket.get_index()
        if index == 0:
            pacer.iteration()
        pacer.enter(tensor.numel() * tensor.element_size())
        try:
            future = reduce(state, bucket)
        except BaseException:
            pacer.exit()
            raise
        return future.then(finish)

    model.register_comm_hook(state, paced)
    return pacer
