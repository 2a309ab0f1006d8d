# SPDX-License-Identifier: Apache-2.0
"""on_topology_daemon.py - attacks on antiphase-topology: its HTTP, announcements, metrics, and
reports of nodes that are invented or too large."""
import os
import socket

from common import ROOT, Topology, often, under, verdict
from figures import count, hold
from on_control import attack_announcer
from on_http import http_bodies, http_crowd, http_deaf, http_lengths, http_trickle

PLAN = os.path.join(ROOT, "examples/two-jobs-fabric.json")
# A report may have 8 MB.
N_PORTS, N_NEIGHBOURS = 4096, 16


def report(node, n_ports, n_neighbours):
    neighbours = ",".join('{"node":"n%d"}' % i for i in range(n_neighbours))
    ports = ",".join('{"port":"p%d","neighbours":[%s]}' % (i, neighbours)
                     for i in range(n_ports))
    return '{"node":"%s","neighbours":true,"ports":[%s]}' % (node, ports)


def send(daemon, text, answers):
    count("reports")
    try:
        status = daemon.ask("POST", "/api/v1/seen", text)[0]
    except OSError:
        status = 0
    answers[status] = answers.get(status, 0) + 1


def check_topology_daemon(folder):
    own = folder + "/topology-daemon"
    os.mkdir(own)
    daemon = Topology(own, PLAN)
    answers = {}

    def invented():
        for i in range(often(1000)):
            send(daemon, report("invented%d" % i, 8, 1), answers)

    def large():
        text = report("large", N_PORTS, N_NEIGHBOURS)
        for i in range(often(24)):
            send(daemon, text.replace('"large"', '"large%d"' % i), answers)

    def ask_for_all():
        """Asks for all reports on many connections, and reads a little of each."""
        held = []
        for i in range(often(10)):
            s = socket.create_connection(("127.0.0.1", daemon.port), 10)
            s.settimeout(1)
            s.sendall(b"GET /api/v1/%s HTTP/1.1\r\nHost: localhost\r\n\r\n" %
                      (b"diff" if i % 2 else b"seen"))
            held.append(s)
            hold(len(held))
            count("requests")
            try:
                s.recv(1000)
            except OSError:
                pass
        for s in held:
            s.close()

    for what, attack in (("bodies of the wrong kind", lambda: http_bodies(daemon)),
                         ("lengths that lie, and noise", lambda: http_lengths(daemon)),
                         ("requests that trickle in", lambda: http_trickle(daemon)),
                         ("a crowd", lambda: http_crowd(daemon)),
                         ("readers that do not read", lambda: http_deaf(daemon)),
                         ("reports of invented nodes", invented),
                         ("reports of 65,536 neighbors each", large),
                         ("readers of all reports that do not read", ask_for_all)):
        under(daemon, what, attack, daemon.serves)
    verdict(answers.get(200) and answers.get(413) and set(answers) <= {200, 413},
            "too many reports are refused (%d of %d)" %
            (answers.get(413, 0), sum(answers.values())), repr(answers))
    attack_announcer(daemon, own + "/changes")
    verdict(daemon.is_alive() and daemon.end() == 0, "it ends when told")
