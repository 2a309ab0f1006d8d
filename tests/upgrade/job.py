#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""job.py PACER N PERIOD_MS - a job of N iterations that reports them with the library
PACER.  Prints for each: number, begin (CLOCK_MONOTONIC, s), wait for an order (ms).
"""
import ctypes
import sys
import time


def main():
    pacer = ctypes.CDLL(sys.argv[1])
    pacer.antiphase_iteration.restype = ctypes.c_int64
    n, period_s = int(sys.argv[2]), float(sys.argv[3]) / 1000
    if pacer.antiphase_open(None, ctypes.c_uint32(0), ctypes.c_uint32(2)) != 1:
        sys.exit("the pacer is off")
    for i in range(n):
        begin = time.monotonic()
        waited_ns = pacer.antiphase_iteration()
        pacer.antiphase_enter(ctypes.c_uint64(1 << 20))
        time.sleep(period_s / 5)
        pacer.antiphase_exit()
        print(i, begin, waited_ns / 1e6, flush=True)
        time.sleep(period_s * 4 / 5)
    pacer.antiphase_close()


if __name__ == "__main__":
    main()
