# SPDX-License-Identifier: Apache-2.0
"""pose.py UID SOCKET [JOB] [N] - as this user, connects N pacers (1), which report an iteration each and
claim to be of JOB, prints how many connections hold, and keeps them for a moment."""
import os
import socket
import struct
import sys
import time

uid, path = int(sys.argv[1]), sys.argv[2]
job, n = (sys.argv[3:] + ["4711"])[0], int((sys.argv[4:] + ["1"])[0])
if uid:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
hello = struct.pack("<4sHBBIII64s", b"appc", 1, 1, 0, os.getpid(), 0, 1, job.encode())
iteration = struct.pack("<4sHBBQqqqQIIII", b"appc", 1, 2, 0, 1, now_ns, now_ns, 0, 0, 0, 0,
                        0, 0)
held = []
for _ in range(n):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(path)
        s.send(hello)
        s.send(iteration)
        held.append(s)
    except OSError:
        s.close()
time.sleep(2 if n > 1 else 0.3)
count = 0
for s in held:
    s.setblocking(False)
    try:
        count += s.recv(1) != b""
    except BlockingIOError:
        count += 1
    except OSError:
        pass
print(count)
