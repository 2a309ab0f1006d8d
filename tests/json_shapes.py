#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""json_shapes.py - checks that --json prints exactly what docs/json.md documents.

Reads the tables of docs/json.md and runs every verb that has --json, in a copy of
examples/.  Each printed key must have a row, each row that is not optional must be
printed, and the types must agree.  A key that is optional, or within an array, is printed
by some command here, or ELSEWHERE names the test that has it.  Schemas have names of one
style; keys of JSON, columns of CSV and the HTTP API's properties have one unit for each
quantity, but for UNITS_OF_OTHERS.  Arrays must be arrays even with no item or one item.
The text output must name the same rows as the JSON.  Prints PASS and FAIL lines for
tests/run.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
ENV = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")

# Words of keys that are units, but not the _bps, _us, _bytes and permille of docs/json.md.
# In front, "min" is the least.
OTHER_UNIT = re.compile(r"(?:^|(?<=_))(ns|ms|s|secs?|seconds|(?<=_)mins?|minutes|h|hours?|days?|[kmgt]bps|[kmgt]bit|bits?|"
                        r"[kmgt]b|[kmgt]ib|percent|pct)(?=_|$)")
SCHEMA_NAME = re.compile(r"antiphase\.[a-z]+(_[a-z]+)*/[1-9][0-9]*")

# Schemas (or "CSV of" a command, or "HTTP" for the API) that have another one, with what is
# before it, and why: the section "Other units" of docs/json.md.
BY_HAND = "people write it, too, in the unit of scenarios and options"
CABLES = "cables as in antiphase.topology/1"
TRACES = "the unit of traces and of the settings of policies; hours and days"
BILL = "weight times seconds, and what is beside it"
UNITS_OF_OTHERS = {
    ("antiphase.topology/1", "gbps"): BY_HAND,
    ("antiphase.profiles/1", "gbps"): BY_HAND,
    ("antiphase.seen/1", "gbps"): BY_HAND,
    ("antiphase.topology_diff/1", "gbps"): CABLES,
    ("antiphase.advice/2", "s"): BILL,
    ("antiphase.job_advices/1", "s"): BILL,
    ("antiphase.sim_policies/2", "s"): TRACES,
    ("antiphase.sim_replay/2", "s"): TRACES,
    ("antiphase.trace_info/2", "s"): TRACES,
    ("antiphase.progress/1", "s"): "a person waits",
    ("HTTP", "gbps"): "rate_gbps of a request is as in antiphase.profiles/1",
    ("HTTP", "s"): BILL,
    ("CSV of sim replay", "s"): TRACES,
    ("CSV of trace convert", "s"): TRACES,
    ("CSV of trace convert", "gib"): TRACES,
}

# The members of an estimate of antiphase.sim_compare/2, from the text above its table.
ESTIMATE = {"mean": "number", "ci95": "number"}
DIFFERENCE = {"difference": "number", "difference_ci95": "number"}


def read_shapes(path):
    """Returns {schema: {path of an object: {key: type}}}; the root's path is ""."""
    shapes, rows = {}, None
    for line in open(path, encoding="utf-8"):
        heading = re.match(r"## (antiphase\.\S+)$", line)
        if line.startswith("## "):
            rows = None
        if heading:
            rows = shapes.setdefault(heading[1], {"": {"schema": "string"}})
        row = re.match(r"\| (`.*?) \| (.*?) \| (.*) \|$", line)
        if not row or rows is None:
            continue
        for key in re.findall(r"`([^`]*)`", row[1]):
            where, _, name = key.rpartition(".")
            rows.setdefault(where, {})[name] = row[2]
            full = (where + "." if where else "") + name
            if row[2].startswith("estimate"):
                rows[full] = dict(ESTIMATE)
                if "difference" in row[2]:
                    rows[full].update(DIFFERENCE)
            same = re.match(r"as in `(.*)`", row[3])
            if same:
                for other, keys in shapes[same[1]].items():
                    if other.startswith(full):
                        rows[other] = keys
    return shapes


def has_type(value, wanted):
    if value is None:
        return "null" in wanted
    if wanted.startswith("array of strings"):
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    if isinstance(value, bool):
        return wanted.startswith("boolean")
    if isinstance(value, int):
        return wanted.startswith(("integer", "number"))
    for kind, word in ((float, "number"), (str, "string"), (list, "array"),
                       (dict, ("object", "estimate"))):
        if isinstance(value, kind):
            return wanted.startswith(word)
    return False


def is_optional(wanted):
    return any(word in wanted for word in ("optional", "may be left out", "with `--"))


def check_object(value, rows, path, faults):
    known = rows.get(path)
    if known is None:
        faults.append(f"no row for the keys of {path or 'the root'}")
        return
    for key, wanted in known.items():
        if key not in value and not is_optional(wanted):
            faults.append(f"{path}.{key} is documented, not printed")
    for key, item in value.items():
        here = (path + "." if path else "") + key
        if key not in known:
            faults.append(f"{here} is printed, not documented")
            continue
        if not has_type(item, known[key]):
            faults.append(f"{here} is {item!r:.40}, documented as {known[key]}")
        if isinstance(item, dict):
            check_object(item, rows, here, faults)
        for element in item if isinstance(item, list) else []:
            if isinstance(element, dict):
                check_object(element, rows, here + "[]", faults)


def keys_of(value, path=""):
    """(path of the object, key) for every key of a document."""
    for key, item in value.items():
        yield path, key
        here = (path + "." if path else "") + key
        if isinstance(item, dict):
            yield from keys_of(item, here)
        for element in item if isinstance(item, list) else []:
            if isinstance(element, dict):
                yield from keys_of(element, here + "[]")


def never_printed(shapes, printed):
    """Documented keys that are neither in 'printed', {schema: keys}, nor ELSEWHERE."""
    return [f"{schema} {where}.{key}"
            for schema, rows in shapes.items() for where, keys in rows.items() for key in keys
            if (where, key) not in printed.get(schema, ()) and key != "schema"
            and not f"{where}.{key}".startswith(ELSEWHERE.get(schema, ()))]


def run(command, statuses=(0,)):
    done = subprocess.run(command, shell=True, env=ENV, capture_output=True, text=True)
    if done.returncode not in statuses:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def names(document, array, key):
    return [row[key] for row in document[array]]


def check_rows(document, array, key, text, faults):
    """Checks that the rows of 'array' begin lines of the text, in the same order."""
    wanted = names(document, array, key)
    first = [line.split()[0] for line in text.splitlines() if line.split()]
    if key == "kind":
        first = [word.rstrip(":") for word in first]
    found = [word for word in first if word in wanted]
    if ">" in "".join(wanted):
        found = [word for word in first if ">" in word]
    if (array, document["schema"]) == ("links", "antiphase.sim_run/2"):
        wanted, found = sorted(wanted), sorted(found)  # The text has the worst first.
    if found[:len(wanted)] != wanted:
        faults.append(f"the text has rows {found}, the JSON {wanted}")


GOLDEN = os.path.join(ROOT, "tests", "golden")
LIVE = "--from two-jobs.tele --fabric two-jobs-fabric.json"

# Schema, command without --json, exit statuses, what else the text must contain, and
# the arrays whose rows are in the text: (array, key, number of rows or None).
COMMANDS = [
    ("compat", "compat -c 50 vgg16.json wideresnet.json", (0,), "",
     [("jobs", "job", 2)]),
    ("compat", "compat -c 50 -s cassini models.json", (0,), "", [("jobs", "job", 5)]),
    ("profiles", "profile mpi-4rank-16MB.csv.xz", (0,), "", [("profiles", "job", 1)]),
    ("profiles", "profile flat.csv", (4,), "", [("profiles", "job", 0)]),
    ("advice", "advise --jobs two-jobs.ini", (0,), "--links",
     [("jobs", "job", 2), ("links", "link", 4)]),
    ("advice", "advise --jobs demo.ini --policy cassini", (0,), "--links",
     [("jobs", "job", 6), ("links", "link", None)]),
    ("advice", "advise --jobs one.ini", (0,), "--links",
     [("jobs", "job", 1), ("links", "link", 0)]),
    ("advice", "advise --jobs waits.ini", (0,), "--links",
     [("jobs", "job", 2), ("links", "link", 0)]),
    ("advice", f"advise --jobs {GOLDEN}/advise-moves/moves.ini", (0,), "--links",
     [("jobs", "job", None)]),
    ("advice", f"advise --jobs {GOLDEN}/links-paths/three-jobs.ini --fabric four-spines.json",
     (0,), "--links", [("jobs", "job", 3)]),
    ("fragmentation", "fragmentation --jobs two-jobs.ini", (0,), "--all",
     [("jobs", "job", 2), ("racks", "rack", 2)]),
    ("fragmentation", "fragmentation --jobs demo.ini", (0,), "--all",
     [("jobs", "job", 3), ("racks", "rack", None)]),
    ("job_advices", "advice --from advised.json", (0,), "", [("advice", "job", 3)]),
    ("job_advices", f"advice --from {GOLDEN}/advice/moved.json", (0,), "", []),
    ("changes", "changes --from changes.json", (0,), "", []),
    ("changes", "changes --from changes.json --job 4716 -n 1", (0,), "", []),
    ("topology", "topology generate leaf-spine --leaves 2 --hosts-per-leaf 1", (0,), "",
     [("hosts", "name", 2), ("cables", "a", None)]),
    ("topology", "topology import topology.conf", (0,), "", [("hosts", "name", 16)]),
    ("topology", "topology import rich.json", (0,), "", [("hosts", "name", 2)]),
    ("topology", "topology generate leaf-spine --leaves 2 --hosts-per-leaf 2 --scale-up 2 "
     "--scale-up-gbps 3600", (0,), "", []),
    ("topology", "topology generate torus --dims 2x2 --balance hash", (0,), "", []),
    ("topology", "topology generate dragonfly --routers-per-group 2 --hosts-per-router 1 "
     "--global-per-router 1 --routing valiant", (0,), "", []),
    ("topology_summary", "topology show fabric.json", (0,), "", [("tiers", "tier", 3)]),
    ("topology_summary", "topology show --links topology.conf", (0,), "",
     [("links", "link", 36)]),
    ("topology_check", "topology check fabric.json", (0,), "", [("faults", "kind", 0)]),
    ("topology_check", "topology check faulty.json", (1,), "",
     [("faults", "kind", None)]),
    ("topology_path", "topology path fabric.json h0 h23", (0,), "",
     [("links", "link", 4)]),
    ("topology_path", "topology path fabric.json h0 h0", (0,), "",
     [("links", "link", 0)]),
    ("topology_path", "topology path --all fabric.json h0 h23", (0,), "",
     [("links", "link", 4)]),
    ("topology_path", "topology path faulty.json h0 h1", (1,), "",
     [("links", "link", 0)]),
    ("path_probe", "path --probe 127.0.0.1:9 --ports 61000-61001 --hops 1", (1,), "", []),
    ("path_inference", f"path h0 h1 {LIVE}", (1,), "", [("flows", "job", 0)]),
    ("path_inference", "path h0 h4 --from switches.tele --fabric four-spines.json", (0,), "",
     [("flows", "job", None)]),
    ("topology_links_of", "topology links-of fabric.json --hosts h0,h1", (0,), "",
     [("links", "link", 4)]),
    ("topology_links_of", "topology links-of fabric.json --hosts h0", (0,), "",
     [("links", "link", 0)]),
    ("links", f"links {LIVE}", (0,), "--all", [("links", "link", 12)]),
    ("links", "links --from two-jobs.tele --sort peak", (0,), "--all",
     [("links", "link", 8)]),
    ("links", f"link leaf0:p2 {LIVE}", (0,), "", [("links", "link", 2)]),
    ("top", f"top --once {LIVE}", (0,), "--all",
     [("links", "link", 12), ("jobs", "job", 2)]),
    ("advice", f"advise {LIVE}", (0,), "--links",
     [("jobs", "job", 2), ("links", "link", 4)]),
    ("profiles", "profile --from two-jobs.tele", (0,), "", [("profiles", "job", 2)]),
    ("jobs", f"jobs {LIVE}", (0,), "", [("jobs", "job", 2)]),
    ("jobs", "job A --from two-jobs.tele", (0,), "", [("jobs", "job", 1)]),
    ("topology_diff", "topology diff fabric.json seen.json", (1,), "", []),
    ("topology_diff", "topology diff fabric.json h0=lldp.json", (0,), "", []),
    ("topology_diff", "topology diff fabric.json unseen.json", (4,), "", []),
    ("record", "replay --fast --bus ipc://bus two-jobs.tele 2>/dev/null & "
     "antiphase record --bus ipc://bus --for 20s -n 32 -o copy.tele", (0,), "", []),
    # Output is on standard error; '#' turns the appended --json into a comment.
    ("progress", "record --bus ipc://nobody --for 1.5s -o nothing.tele --progress=json "
     "2>&1 | grep ^{ | tail -n 1 #", (0,), "", []),
    ("keys", "keys new -d k >/dev/null 2>&1; antiphase keys show -d k", (0,), "",
     [("allowed", "name", 0)]),
    ("keys", "keys new -d l >/dev/null 2>&1; antiphase keys allow -d l n1 l/self.pub "
     "2>/dev/null; antiphase keys show -d l", (0,), "", [("allowed", "name", 1)]),
    ("keys", "keys new -d m >/dev/null 2>&1; antiphase keys server -d m --for h1 l/self.pub "
     "2>/dev/null; antiphase keys show -d m", (0,), "", [("servers", "name", 1)]),
    ("store_check", "store check history.db", (0,), "", [("tables", "table", 6)]),
    ("store_check", "store check faultless.conf", (1,), "", [("tables", "table", 0)]),
    ("config", "config show --config faultless.conf", (0,), "",
     [("settings", "setting", None)]),
    ("config", "config show --config faultless.conf topology.every_s", (0,),
     "--origin", [("settings", "setting", 1)]),
    ("config_check", "config check faulty.conf", (1,), "", []),
    ("config_check", "config check faultless.conf", (0,), "", [("faults", "line", 0)]),
    ("seen", "topology report --print --node h0 --lldp lldp.json", (0,), "",
     [("nodes", "node", 1)]),
    ("doctor", "doctor --runtime-dir run", (0, 1), "", []),
    ("setup", "setup", (0,), "", []),
    ("setup", "setup --root models --undo", (0,), "", [("steps", "target", 0)]),
    ("setup_journal", "setup --root models >box.out; mkdir -p box/usr/sbin && "
     "install /bin/true box/usr/sbin/antiphase-collector && antiphase setup --root box --apply >box.out; "
     "cat box/var/lib/antiphase-setup/journal.json #", (0,), "", []),
    ("stats", "stats --runtime-dir run", (0,), "", [("figures", "name", None)]),
    ("stats", "stats --runtime-dir run nothing-is-called-so", (0,), "",
     [("figures", "name", 0)]),
    ("stats", "stats --runtime-dir run build_info", (0,), "", [("figures", "name", 1)]),
    ("slurm_install", "slurm install --conf slurm.conf", (0,), "", []),
    ("slurm_status", "slurm status --conf slurm.conf --http 127.0.0.1:1", (1,), "", []),
    ("slurm_release", "slurm release --config faultless.conf", (0,), "", []),
    ("sim_run", "sim run two-jobs.ini", (0,), "--all-links",
     [("jobs", "job", 2), ("links", "link", None)]),
    ("sim_run", "sim run two-jobs.ini --duration 0.001", (0,), "--all-links",
     [("jobs", "job", 2), ("links", "link", None)]),
    ("sim_run", "sim run failures.ini", (0,), "--all-links",
     [("jobs", "job", 2), ("links", "link", None), ("events", "event", 5)]),
    ("sim_run", "sim run one.ini", (0,), "--all-links",
     [("jobs", "job", 1), ("links", "link", None)]),
    ("sim_run", "sim run waits.ini --policy fair", (0,), "--all-links",
     [("jobs", "job", 2), ("links", "link", None)]),
    # --series needs --json; '#' turns the appended one into a comment.
    ("sim_run", "sim run two-jobs.ini --series --json #", (0,), "", []),
    ("sim_run", "sim run two-jobs.ini --series --json --duration 0.001 #", (0,), "", []),
    ("sim_compare", "sim compare waits.ini --seeds 1..2 --series --json #", (0,), "", []),
    ("sim_compare", "sim compare two-jobs.ini --seeds 1..2", (0,), "", []),
    ("sim_compare", "sim compare one.ini --seeds 1 --policies fair", (0,), "", []),
    ("sim_compare", "sim compare waits.ini --seeds 1 --policies fair", (0,), "", []),
    ("sim_policies", "sim policies", (0,), "", []),
    ("sim_policies", "sim policies 2d-las", (0,), "", []),
    ("trace_info", "trace info jobs.csv", (0,), "", []),
    ("trace_info", "trace info one.csv", (0,), "", []),
    ("sim_replay", "sim replay jobs.csv --cluster 2x8 --policy srtf,2d-las", (0,), "",
     [("policies", "policy", 2)]),
    ("sim_replay", "sim replay studies/poisson-24.ini --cluster 24x1/4 --policy random --fabric "
     "fabric.json --models models --augment dedicated --measure", (0,), "", []),
    ("sim_replay", "sim replay jobs.csv --cluster 2x8 --policy fifo --until 1", (0,),
     "", [("policies", "policy", 1)]),
    # Output is in a file; '#' turns the appended --json into a comment.
    ("sim_sweep", "sim sweep sweep.ini >sweep.out; cat sweep.sweep/sweep.json #", (0,),
     "", []),
    ("sim_ratios", "sim sweep sweep.ini -o r >sweep.out; antiphase sim ratios r/sweep.json "
     "-b policy=none -m summary.goodput", (0,), "", []),
]

# Documented keys that no command above prints: where they are printed.
ELSEWHERE = {
    "antiphase.demo_live/2": ("",),  # tests/demo.py
    "antiphase.model/1": ("",),  # check_models()
    "antiphase.setup_journal/1": ("",),  # tests/setup.py: a file.
    "antiphase.path_probe/1": ("ports[].switches[].",),  # tests/net: needs routers.
    "antiphase.slurm_release/2": ("jobs[].",),  # tests/net: needs Slurm.
    # Paths: tests/api.py.  The outcome of advised hosts: no test, as it takes a placed job.
    "antiphase.job_advices/1": ("advice[].paths", "advice[].outcome.place."),
    "antiphase.collector_jobs/2": ("jobs[].",),  # tests/net: needs a control group.
    "antiphase.seen/1": ("nodes[].ports[].gbps",),  # tests/net: needs ports with a speed.
}

ONE = """[sim]
iterations = 5
[fabric]
generate = leaf-spine --leaves 2 --hosts-per-leaf 1 --spines 1
[job only]
hosts = h[0-1]
segment = compute 5 ms
segment = send 1 MB
"""
FAULTY = """{"schema": "antiphase.topology/1",
 "switches": [{"name": "leaf0", "tier": 1}],
 "hosts": [{"name": "h0"}, {"name": "h1"}],
 "cables": [{"a": "h0:p0", "b": "leaf0:p0", "gbps": 10}]}
"""

RICH = """{"schema": "antiphase.topology/1", "name": "rich",
 "switches": [{"name": "leaf0", "tier": 1, "addresses": ["10.0.0.1"]}],
 "tiers": [{"tier": 1, "balance": "spray"}],
 "hosts": [{"name": "h0", "slots": 8}, {"name": "h1"}],
 "cables": [{"a": "h0:p0", "b": "leaf0:p0", "gbps": 10, "back_gbps": 20},
  {"a": "h1:p0", "b": "leaf0:p1", "gbps": 10, "one_way": true}]}
"""

LLDP = """{"lldp": [{"interface": [{"name": "p0",
 "chassis": [{"name": [{"value": "leaf0"}]}],
 "port": [{"id": [{"value": "p0"}], "descr": [{"value": "to h0"}],
  "auto-negotiation": [{"current": [{"value": "50GbaseCR"}]}]}]}]}]}
"""
SEEN = """{"schema": "antiphase.seen/1", "nodes": [{"node": "h0", "links": true,
 "ports": [{"port": "p0", "state": "down"}]}, {"node": "h1", "neighbours": true,
 "ports": [{"port": "p0", "neighbours": [{"node": "leaf3", "port": "p9"}]}]}]}
"""


def write_inputs():
    open("lldp.json", "w").write(LLDP)
    open("one.csv", "w").write("job_id,submit_s,num_gpus,iterations,model\nj,0,3,9,m\n")
    open("slurm.conf", "w").write("ClusterName=cluster\nSlurmctldHost=localhost\n")
    open("faultless.conf", "w").write("[topology]\nevery_s = 5\n")
    open("faulty.conf", "w").write("[topology]\nevery_s = x\n[bus]\nhost = h\n")
    open("seen.json", "w").write(SEEN)
    open("unseen.json", "w").write(SEEN[:SEEN.index("[") + 1] + "]}")
    open("one.ini", "w").write(ONE)
    open("waits.ini", "w").write(ONE + ONE[ONE.index("[job"):]
                                 .replace("only", "waits")
                                 .replace("hosts = h[0-1]", "nodes = 2"))
    open("faulty.json", "w").write(FAULTY)
    open("rich.json", "w").write(RICH)
    run("antiphase topology generate leaf-spine --leaves 2 --hosts-per-leaf 4 --spines 4 "
        "--gbps 50 -o four-spines.json")
    run(f"antiphase sim run {GOLDEN}/links-paths/three-jobs.ini -f four-spines.json "
        "--duration 6 --publish switches.tele --publish-switches")
    with open("flat.csv", "w") as out:
        out.write("t_ms,rank,direction,job,bytes,packets,retransmits\n")
        for ms in range(12000):
            out.write(f"{ms},0,egress,flat,1000,1,0\n")
    write_store()


def write_store():
    """Makes history.db, by a daemon that hears nobody."""
    daemon = subprocess.Popen(["antiphase-scheduler", "--store", "history.db", "--http", "off",
                               "--announce", "off", "--bus", "ipc://nobody", "--runtime-dir",
                               "store-run"], env=ENV, stderr=subprocess.DEVNULL)
    for _ in range(300):
        if subprocess.run(["antiphase", "store", "check", "history.db"], env=ENV,
                          capture_output=True, check=False).returncode == 0:
            break
        time.sleep(0.1)
    daemon.terminate()
    daemon.wait()


def is_of(name, schema):
    return schema.rpartition("/")[0] == "antiphase." + name


def check_command(shapes, printed_keys, schema, command, statuses, text_needs, arrays, faults):
    has_option = not command.startswith(("topology generate", "topology import",
                                         "topology report"))
    printed = run(f"antiphase {command}" + (" --json" if has_option else ""), statuses)
    document = json.loads(printed)
    if next(iter(document)) != "schema" or not is_of(schema, document["schema"]):
        faults.append("the first key is not the schema of the documentation")
        return
    check_object(document, shapes[document["schema"]], "", faults)
    printed_keys.setdefault(document["schema"], set()).update(keys_of(document))
    for array, key, count in arrays:
        if count is not None and len(document[array]) != count:
            faults.append(f"{array} has {len(document[array])} items, not {count}")
    if has_option:
        text = run(f"antiphase {command} {text_needs}", statuses)
        for array, key, _ in arrays:
            if key != "tier":
                check_rows(document, array, key, text, faults)


def check_models(shapes):
    """The models in examples/ match docs/json.md, and each source is a string."""
    faults, folder = [], os.path.join(ROOT, "examples", "models")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        model = json.load(open(os.path.join(folder, name), encoding="utf-8"))
        sources = model.get("sources")
        if not sources or not all(isinstance(text, str) for text in sources.values()):
            faults.append(f"{name}: sources")
        rows = dict(shapes[model["schema"]], sources=dict.fromkeys(sources or {}, "string"))
        check_object(model, rows, "", faults)
    print("FAIL" if faults else "PASS", "json: examples/models")
    for fault in sorted(set(faults)):
        print(f"examples/models: {fault}", file=sys.stderr)
    return bool(faults)


def read_former():
    """The former schemas that docs/json.md names, which programs at most read."""
    text = open("docs/json.md", encoding="utf-8").read().partition("\n## Former schemas\n")[2]
    return set(re.findall(r"^\| `(antiphase\.[^`]+)` \|", text, re.MULTILINE))


def check_schemas():
    """docs/json.md has exactly the schemas that programs print, with names of one style."""
    folders, schema = ["bpf", "lib", "topology", "collector", "engine", "policies", "scheduler", "pacer", "sim", "cli",
                       "tests/net"], re.compile(r"antiphase\.[a-z_.-]+/[0-9]+")
    printed = set()
    for folder in folders:
        for where, _, files in os.walk(folder):
            for name in files:
                if name.endswith((".c", ".h", ".py", ".lua", ".sh")):
                    path = os.path.join(where, name)
                    printed.update(schema.findall(open(path, encoding="utf-8").read()))
    documented = set(schema.findall(open("docs/json.md", encoding="utf-8").read()))
    wrong = sorted((printed ^ documented) - read_former())
    print("FAIL" if wrong else "PASS", "json: docs/json.md names every schema that is printed",
          *wrong)
    odd = sorted(name for name in documented - read_former() if not SCHEMA_NAME.fullmatch(name))
    print("FAIL" if odd else "PASS", "json: schemas have names in snake_case", *odd)
    return bool(wrong or odd)


def keys_of_api(value):
    """The names of all properties of the HTTP API's description."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from keys_of_api(item)
    if isinstance(value, dict) and isinstance(value.get("properties"), dict):
        yield from value["properties"]


def columns_of_csv():
    """("CSV of" a command, column) for every CSV that programs write."""
    folder = os.path.join(BUILD, "json-shapes-csv")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run("cd examples && "
        f"antiphase sim run two-jobs.ini --iterations 2 --csv {folder}/run/ && "
        f"antiphase sim compare two-jobs.ini --iterations 2 --seeds 1 --policies fair --csv {folder}/compare/ && "
        f"antiphase sim replay jobs.csv --cluster 2x8 --policy fifo --csv {folder}/replay.csv && "
        f"antiphase trace convert jobs.csv --output {folder}/convert.csv && "
        f"antiphase sim sweep sweep.ini -o {folder}/sweep && "
        f"antiphase sim ratios {folder}/sweep/sweep.json -b policy=none -m summary.goodput --csv {folder}/ratios.csv")
    for files, command in (("run", "sim run"), ("compare", "sim compare"), ("replay.csv", "sim replay"),
                           ("convert.csv", "trace convert"), ("sweep", "sim sweep"), ("ratios.csv", "sim ratios")):
        path = os.path.join(folder, files)
        names = [path] if files.endswith(".csv") else [os.path.join(path, name) for name in os.listdir(path)
                                                       if name.endswith(".csv")]
        for name in names:
            lines = [line for line in open(name, encoding="utf-8") if not line.startswith("#")]
            yield from (("CSV of " + command, column.strip()) for column in lines[0].split(","))
    shutil.rmtree(folder)


def check_units(shapes):
    """Each quantity has one unit in keys and columns; whoever has another one has a reason."""
    keys = {(schema, key) for schema, rows in shapes.items() for row in rows.values() for key in row}
    keys |= set(columns_of_csv())
    keys |= {("HTTP", key) for key in keys_of_api(json.load(open("docs/openapi.json", encoding="utf-8")))}
    others = {(where, key, unit) for where, key in keys for unit in OTHER_UNIT.findall(key)}
    wrong = sorted(f"{where}:{key}" for where, key, unit in others if (where, unit) not in UNITS_OF_OTHERS)
    print("FAIL" if wrong else "PASS", "json: keys have the units of docs/json.md", *wrong)
    unused = sorted(f"{where}:{unit}" for where, unit in
                    set(UNITS_OF_OTHERS) - {(where, unit) for where, _, unit in others})
    print("FAIL" if unused else "PASS", "json: and no more exceptions than needed", *unused)
    return bool(wrong or unused)


def start_collector():
    """Starts a collector that needs no privileges, in the directory run; returns it."""
    collector = subprocess.Popen(
        ["antiphase-collector", "--source", "netlink", "--runtime-dir", "run",
         "--endpoint", "none", "--metrics", "none", "--log", "err"], env=ENV)
    for _ in range(100):
        if os.path.exists("run/collector.sock") or collector.poll() is not None:
            break
        time.sleep(0.05)
    return collector


def main():
    shapes, printed = read_shapes("docs/json.md"), {}
    folder = tempfile.mkdtemp()
    failed = check_schemas() | check_units(shapes)
    collector = None
    try:
        shutil.copytree("examples", os.path.join(folder, "examples"))
        os.chdir(os.path.join(folder, "examples"))
        write_inputs()
        collector = start_collector()
        for schema, command, *rest in COMMANDS:
            faults = []
            try:
                check_command(shapes, printed, schema, command, *rest, faults)
            except (RuntimeError, ValueError) as error:
                faults.append(str(error))
            print("FAIL" if faults else "PASS", f"json: {command}")
            for fault in sorted(set(faults)):
                print(f"{command}: {fault}", file=sys.stderr)
            failed |= bool(faults)
        faults = []
        document = json.loads(run("antiphase-collector job list --json "
                                  "--runtime-dir run"))
        check_object(document, shapes[document["schema"]], "", faults)
        printed[document["schema"]] = set(keys_of(document))
        print("FAIL" if faults else "PASS", "json: antiphase-collector job list")
        failed |= bool(faults)
        unseen = {schema for schema in shapes
                  if not any(is_of(name, schema) for name, *_ in COMMANDS)}
        failed |= check_models(shapes)
        unseen -= set(printed) | {schema for schema, keys in ELSEWHERE.items() if "" in keys}
        print("FAIL" if unseen else "PASS", "json: every documented shape is printed",
              *unseen)
        never = never_printed(shapes, printed)
        print("FAIL" if never else "PASS", "json: every documented key is printed")
        for key in never:
            print(f"{key}: no command prints it", file=sys.stderr)
        failed |= bool(unseen or never)
    finally:
        if collector:
            collector.terminate()
            collector.wait()
        os.chdir(ROOT)
        shutil.rmtree(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
