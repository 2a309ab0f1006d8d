# SPDX-License-Identifier: Apache-2.0
"""on_control.py - attacks on the announcement socket and the control socket."""
from common import DRAW, noise, often, under
from figures import count, hold
from zmtp import connect, zmq_frame, zmq_greeting, zmq_meet, zmq_ready


def attack_announcer(daemon, path):
    def noises():
        for _ in range(often(300)):
            try:
                count("connections")
                with connect(path) as s:
                    s.sendall(DRAW.choice([noise(200), zmq_greeting(b"CURVE") + noise(300),
                                           zmq_greeting() + noise(300),
                                           zmq_greeting() + b"\x06" + b"\xff" * 8,
                                           zmq_greeting() + zmq_ready("PUB") +
                                           zmq_frame(noise(2000))]))
            except OSError:
                pass

    def topics():
        """One listener subscribes to more topics than memory can hold."""
        with connect(path) as s:
            zmq_meet(s, "SUB")
            s.settimeout(2)
            for _ in range(20000):
                count("subscriptions")
                s.sendall(zmq_frame(b"\x01" + noise(200)))
            s.sendall(zmq_frame(b"\x01" + noise(1 << 20)))

    def crowd():
        held = []
        for _ in range(500):
            try:
                held.append(connect(path))
                count("connections")
            except OSError:
                break
        hold(len(held))
        daemon.serves()
        for s in held:
            s.close()

    for what, attack in (("listeners that talk noise", noises),
                         ("20,000 subscriptions of one", topics),
                         ("500 listeners that say nothing", crowd)):
        under(daemon, what, attack, daemon.serves)


def attack_control(daemon, path):
    def talk():
        held = []
        for i in range(often(300)):
            try:
                s = connect(path)
                s.settimeout(1)
                held.append(s)
                hold(len(held))
                count("requests")
                s.sendall([b"x" * 200000, noise(100),
                           b"POST /control HTTP/1.0\r\nContent-Length: 100\r\n\r\n" +
                           noise(100)][i % 3])
            except OSError:
                pass
            if i % 2 and held:
                held.pop().close()
        for s in held:
            s.close()
    under(daemon, "control by noise, at length, and by many", talk, daemon.serves)
