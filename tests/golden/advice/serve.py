# SPDX-License-Identifier: Apache-2.0
"""serve.py FILE - an HTTP server that imitates antiphase-scheduler.

It listens on a free port of loopback, writes the port to FILE, and answers from the
files of this folder."""
import http.server
import json
import os
import sys
import urllib.parse

ADVICE = json.load(open("advised.json", encoding="utf-8"))
ANSWERS = {
    "/api/v1/advice": ADVICE,
    "/api/v1/health": json.load(open("health.json", encoding="utf-8")),
    "/api/v1/config": json.load(open("config.json", encoding="utf-8")),
}
for one in ADVICE["advice"]:
    ANSWERS["/api/v1/advice/" + one["job"]] = one


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path)
        found = path in ANSWERS
        body = json.dumps(ANSWERS.get(path, {"error": {"code": "unknown_job"}}))
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(body.encode() + b"\n")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
with open(sys.argv[1] + ".new", "w", encoding="utf-8") as port:
    port.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
