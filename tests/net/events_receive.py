#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""events_receive.py SOCKET FILE - writes a line for each received event: pid source
launch begin_s end_s bytes lost.  It has its own parser of the datagram that
lib/wire/coll_event.h defines."""
import socket
import struct
import sys

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
with open(sys.argv[2], "w", buffering=1) as out:
    while True:
        datagram = receiver.recv(100)
        magic, version, source, flags, pid, zero, begin_ns, end_ns, size, lost = struct.unpack(
            "<4sHBBIIqqQQ", datagram)
        assert (magic, version, zero) == (b"apmk", 1, 0), datagram
        out.write(f"{pid} {source} {flags} {begin_ns / 1e9:.6f} {end_ns / 1e9:.6f} {size} {lost}\n")
