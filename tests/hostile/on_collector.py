# SPDX-License-Identifier: Apache-2.0
"""on_collector.py - attacks on the collector's sockets for pacers and for their orders."""
import os
import socket
import subprocess
import sys

from common import (BUILD, DRAW, Program, ask_health, free_port, noise, often,
                    under, verdict, wait_for)
from figures import count, hold
from zmtp import Publisher


def pacer_connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(2)
    s.connect(path)
    return s


def attack_pacers(collector, path):
    def serves():
        try:
            pacer_connect(path).close()
            done = subprocess.run([os.path.join(BUILD, "antiphase"), "ctl", "--runtime-dir",
                                   collector.folder, "collector", "stats"], timeout=10,
                                  capture_output=True, check=False)
            return done.returncode == 0 and len(done.stdout) > 0
        except (OSError, subprocess.SubprocessError):
            return False

    def garbage():
        for _ in range(often(3000)):
            try:
                with pacer_connect(path) as s:
                    for _ in range(3):
                        count("packets")
                        s.send(b"appc" + noise(DRAW.randrange(200)) if DRAW.random() < 0.5
                               else noise(DRAW.randrange(1, 3000)))
            except OSError:
                pass

    def flood():
        held = []
        for _ in range(20):
            try:
                held.append(pacer_connect(path))
            except OSError:
                pass
        hold(len(held))
        for i in range(often(60000)):
            count("packets")
            try:
                held[i % len(held)].send(b"appc" + bytes(44), socket.MSG_DONTWAIT)
            except OSError:
                if i % 100 == 0:
                    try:
                        held[i % len(held)] = pacer_connect(path)
                    except OSError:
                        pass

    def crowd():
        held = []
        for _ in range(900):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            try:
                s.connect(path)
                held.append(s)
                count("connections")
            except OSError:
                s.close()
        hold(len(held))
        for s in held:
            s.close()

    for what, attack in (("pacers that send garbage", garbage),
                         ("pacers that flood", flood), ("900 pacers that say nothing", crowd)):
        under(collector, what, attack, serves)
    return serves


def attack_orders(collector, orders, serves):
    texts = [b"", b"{", noise(300), b"[" * 100000, b'{"schema":"antiphase.orders/2"}',
             b'{"schema":"antiphase.orders/1","orders":{}}',
             b'{"schema":"antiphase.orders/1","orders":[' + b"{}," * 10000 + b"{}]}",
             b'{"schema":"antiphase.orders/1","orders":[{"job":"1","pid":-1,"number":1e99,'
             b'"delay_us":-5,"not_before_us":0,"expires_us":0,"max_us":9e18}]}',
             b'{"schema":"antiphase.orders/1","orders":[{"job":"\\u001b[31m","pid":1,'
             b'"number":1,"delay_us":5,"not_before_us":0,"expires_us":1,"max_us":1}]}',
             bytes(4 << 20)]

    def send():
        orders.meet()
        for i in range(often(5000)):
            try:
                orders.send(b"pace/h9/", texts[i % (len(texts) - 1)])
                if i % 1000 == 999:
                    orders.send(b"pace/h9/", texts[-1])
            except OSError:
                orders.meet()
    under(collector, "orders that are none", send, serves)


def check_collector(folder):
    os.chmod(folder, 0o711)
    os.mkdir(folder + "/c")
    orders = Publisher(folder + "/orders")
    path = folder + "/c/sockets/pacer.sock"
    metrics = free_port()
    collector = Program(folder + "/c", "antiphase-collector", "--host", "h9", "--source",
                        "netlink", "--interface", "lo",
                        "--metrics", "127.0.0.1:%d" % metrics, "--endpoint", "ipc://%s/c/bus" % folder,
                        "--pacer-orders", "ipc://%s/orders" % folder)
    if not wait_for(lambda: os.path.exists(path), 10):
        verdict(False, "the collector listens to pacers", "\n".join(collector.lines()))
        return
    collector.probe = lambda: ask_health(metrics, "/healthz")
    serves = attack_pacers(collector, path)
    attack_orders(collector, orders, serves)
    rss_kb, n_lines = collector.rss_kb(), len(collector.lines())
    verdict(collector.end() == 0, "the collector ends when told")
    print("antiphase-collector after all of it: %d kB, %d lines of log" % (rss_kb, n_lines),
          file=sys.stderr)
