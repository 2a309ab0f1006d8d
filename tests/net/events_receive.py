#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""events_receive.py SOCKET FILE - writes a line for each received event: pid source
launch begin_s end_s bytes lost.  It has its own parser of the packet that
lib/wire/coll_event.h defines."""
import selectors
import socket
import struct
import sys

watched = selectors.DefaultSelector()
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen(16)
watched.register(listener, selectors.EVENT_READ)
with open(sys.argv[2], "w", buffering=1) as out:
    while True:
        for key, _ in watched.select():
            if key.fileobj is listener:
                watched.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            packet = key.fileobj.recv(100)
            if not packet:
                watched.unregister(key.fileobj)
                key.fileobj.close()
                continue
            magic, version, source, flags, pid, zero, begin_ns, end_ns, size, lost = \
                struct.unpack("<4sHBBIIqqQQ", packet)
            assert (magic, version, zero) == (b"apmk", 1, 0), packet
            out.write(f"{pid} {source} {flags} {begin_ns / 1e9:.6f} {end_ns / 1e9:.6f} "
                      f"{size} {lost}\n")
