# SPDX-License-Identifier: Apache-2.0
"""on_topology.py - a topology service that sends wrong data about the fabric."""
import os
import shutil
import signal
import threading
import time

from common import Scheduler, noise, under, verdict, wait_for
from figures import count
from zmtp import Publisher, listen


class Liar(threading.Thread):
    """A topology service that answers every request with the current wrong answer."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.at, self.lie, self.n_asked = listen(path), b"{}", 0
        self.start()

    def run(self):
        while True:
            peer = self.at.accept()[0]
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            if self.lie == "noise":
                self.n_asked += 1
                count("answers")
                peer.sendall(noise(100000))
                return
            question = b""
            while b"\r\n\r\n" not in question:
                more = peer.recv(4096)
                if not more:
                    return
                question += more
            self.n_asked += 1
            count("answers")
            if self.lie is None:
                peer.recv(1)  # Until the daemon disconnects.
            elif self.lie == "huge":
                # Announces a body of 8 GB and begins to send it.
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (8 << 30))
                for _ in range(400):
                    peer.sendall(bytes(1 << 20))
            elif self.lie == "refusal":
                peer.sendall(b"HTTP/1.1 503 No\r\n\r\n" + noise(200))
            else:
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" %
                             len(self.lie) + self.lie)
        except OSError:
            pass
        finally:
            peer.close()


def attack_topology(folder):
    os.mkdir(folder + "/t")
    shutil.copy(folder + "/token", folder + "/t/token")
    liar = Liar(folder + "/liar")
    announced = Publisher(folder + "/changes")
    daemon = Scheduler(folder + "/t", "--bus", "ipc://%s/t/bus" % folder, "--announce",
                       "none", "--topology", "unix:%s/liar" % folder,
                       "--topology-changes", "ipc://%s/changes" % folder)
    good = b'{"schema":"antiphase.topology/1","switches":[],"hosts":[],"cables":[]}'
    lies = [b"", b"{", noise(5000), b"[" * 1000000, b'{"ok":true}', b'{"plan":null}',
            b'{"schema":"antiphase.topology/1","hosts":[{"name":"a"},{"name":"a"}]}',
            b'{"ok":true,"plan":' + good + b"}", b"null", b'{"plan":' * 500,
            b'{"schema":"antiphase.topology/1","switches":[' +
            b",".join(b'{"name":"s%d","tier":1}' % i for i in range(20000)) + b"]}",
            "noise", "refusal", "huge", None]

    def lie():
        for text in lies:
            liar.lie, before = text, liar.n_asked
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: liar.n_asked > before, 2)
            time.sleep(0.1)

    lines = under(daemon, "a service that lies about the fabric", lie, daemon.serves)
    verdict(liar.n_asked >= len(lies) // 2, "it was asked (%d times)" % liar.n_asked)
    verdict(any("fabric:" in line for line in lines), "and the log says so once or more")

    def cry():
        announced.meet()
        for i in range(20000):
            announced.send(b"t/plan", b"{}" if i % 2 else noise(50))

    liar.lie, before = b"{}", liar.n_asked
    under(daemon, "20,000 changes announced", cry, daemon.serves)
    time.sleep(2)
    verdict(liar.n_asked - before < 20, "it does not ask for each (%d times)" %
            (liar.n_asked - before))
    verdict(daemon.end() == 0, "it ends when told")
