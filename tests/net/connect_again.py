#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""connect_again.py - TCP connections that are opened again and again, and a look at them.

    connect_again.py serve ADDRESS PORT           accepts connections, reads all they send
    connect_again.py connect ADDRESS PORT [bind]  one connection of about 1 MB/s, until
                                                  SIGTERM; prints its source port; 'bind':
                                                  as Open MPI, binds an address first
    connect_again.py watch PORT INTERFACE...      prints "INTERFACE SOURCE-PORT" for each
                                                  SYN to PORT that leaves an interface,
                                                  except probes, which have few hops left
"""
import signal
import socket
import struct
import sys
import threading
import time

ETH_P_IP = 0x0800
OUTGOING = 4
SYN, ACK = 0x02, 0x10
HOPS_OF_PROBES = 16


def drain(peer):
    try:
        while peer.recv(1 << 18):
            pass
    except OSError:
        pass
    peer.close()


def serve(address, port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(8)
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=drain, args=(peer,), daemon=True).start()


def connect(address, port, is_bound):
    peer = socket.socket()
    if is_bound:
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        probe.connect((address, port))
        peer.bind((probe.getsockname()[0], 0))
    peer.connect((address, port))
    print(peer.getsockname()[1], flush=True)
    stops = []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(1))
    while not stops:
        peer.sendall(bytes(1 << 16))
        time.sleep(0.06)
    peer.close()


def syn_port(packet, port):
    """Returns the source port of a SYN to 'port' that is no probe, or None."""
    if len(packet) < 34 or packet[23] != socket.IPPROTO_TCP or packet[22] <= HOPS_OF_PROBES:
        return None
    tcp = packet[14 + 4 * (packet[14] & 15):]
    source, destination = struct.unpack("!HH", tcp[:4])
    if destination != port or tcp[13] & (SYN | ACK) != SYN:
        return None
    return source


def watch_one(interface, port):
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
    sniffer.bind((interface, 3))  # ETH_P_ALL: what leaves is seen only so.
    while True:
        packet, address = sniffer.recvfrom(256)
        if address[2] == OUTGOING and (source := syn_port(packet, port)):
            print(f"{interface} {source}\n", end="", flush=True)


def watch(port, interfaces):
    threads = [threading.Thread(target=watch_one, args=(one, port)) for one in interfaces]
    for thread in threads:
        thread.start()


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "watch":
    watch(int(sys.argv[2]), sys.argv[3:])
else:
    connect(sys.argv[2], int(sys.argv[3]), len(sys.argv) > 4)
