# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DistributedDataParallel, paced by antiphase.

    import antiphase_ddp
    model = DistributedDataParallel(...)
    antiphase_ddp.register(model)

Call register() in every rank.  Rank 0 then tells the collector on its host when each
iteration begins to reduce its gradients.  On request it delays the next iteration, by
at most one period of the job.  All other ranks reduce gradients as usual; so does rank
0 without the library or without a collector.  Environment variables take precedence:
see antiphase-pacer(7).

Use this module for jobs whose collectives the preloaded library cannot see: gloo, and
statically linked NCCL.  Do not preload the library as well.

The module needs libantiphase-pacer.so, either in the loader's search path or at
$ANTIPHASE_PACER.  With NCCL, the reported times are those of enqueueing, and a wait
delays everything that is enqueued after it.
"""
import ctypes
import os

__all__ = ["register", "Pacer"]


class Pacer:
    """Calls the library's five functions; does nothing if the library is missing."""

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
        """Reports the start of communication.  May wait; returns the ns waited."""
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
    register_comm_hook().  The default does what DDP does without a hook.
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
