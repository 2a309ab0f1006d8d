#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_module.py - lib/python/antiphase.py over the built programs.

Scenarios from Python data and from files give what the programs give for the files;
tables of each document; fabrics; a sweep that is resumed; errors, which are the
program's own lines; and each script of examples/python, whose CSV is read.  Prints PASS,
FAIL and SKIP lines for tests/run.
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "lib", "python"))
import antiphase  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples")
PATH = BUILD + ":" + os.environ["PATH"]
TWO = {
    "sim": {"iterations": 100},
    "fabric": {"generate": "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 1 --gbps 50"},
    "job A": {"hosts": ["h0", "h2"], "segment": ["compute 25 ms", "send 125 MB"]},
    "job B": {"hosts": "h1,h3", "segment": ["compute 25 ms", "send 125 MB"], "shift": "0 ms"},
}


def example(name):
    return os.path.join(EXAMPLES, name)


def equal(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r:.300} is not {wanted!r:.300}")


def raises(kind, part, function, *arguments, **options):
    """The error of a call; its text has 'part'."""
    try:
        function(*arguments, **options)
    except kind as error:
        if part not in str(error):
            raise AssertionError(f"{str(error)!r} does not say {part!r}") from error
        return error
    raise AssertionError(f"no {kind.__name__}")


def printed(*arguments):
    done = subprocess.run(["antiphase", *arguments], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH=PATH))
    return done.stdout or done.stderr


def without_path(document):
    return {key: value for key, value in document.items() if key != "scenario"}


# ---- Cases ------------------------------------------------------------------------------


def scenarios_from_data():
    wanted = json.loads(printed("sim", "run", example("two-jobs.ini"), "--json"))
    result = antiphase.run(antiphase.Scenario(TWO))
    equal(without_path(result), without_path(wanted))
    equal([row["iteration_mean_us"] for row in result.table("jobs")], [65000, 65000])
    equal(result.columns("jobs")["job"], ["A", "B"])
    equal(result.columns("jobs")["hosts"], [["h0", "h2"], ["h1", "h3"]])
    equal(result.table()[0]["summary.jobs"], 2)
    fabric = antiphase.Fabric.load(example("two-jobs-fabric.json"))
    jobs = {name: keys for name, keys in TWO.items() if name != "fabric"}
    other = antiphase.run(antiphase.Scenario(jobs, fabric))
    equal(without_path(other), without_path(wanted))
    other = antiphase.run(antiphase.Scenario(TWO), fabric=fabric)
    equal(without_path(other), without_path(wanted))


def scenarios_from_files():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("two-jobs.ini", "demo.ini", "torus.ini", "paths.ini"):
            options = {"policy": "fair", "iterations": 5}
            wanted = antiphase.run(example(name), **options)
            scenario = antiphase.Scenario.load(example(name))
            equal(without_path(antiphase.run(scenario, **options)), without_path(wanted))
            copy = scenario.save(os.path.join(folder, name))
            equal(antiphase.Scenario.load(copy).sections, scenario.sections)


def scenarios_that_cannot_be():
    for text in ("x\n[sim]", "h0 ; h1"):
        raises(ValueError, "'hosts'", antiphase.Scenario({"job A": {"hosts": text}}).text)
    raises(ValueError, "section", antiphase.Scenario({"sim]": {}}).text)
    raises(ValueError, "both", antiphase.run, antiphase.Scenario(TWO, antiphase.Fabric({})))
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write("[sim]\nseed\n")
        file.flush()
        raises(ValueError, ":2: expected", antiphase.Scenario.load, file.name)


def tables_of_compare():
    result = antiphase.compare(antiphase.Scenario(TWO), policies=["fair", "antiphase"],
                               seeds=range(1, 4), set={"jobs.jitter": "1%", "sim.iterations": 20})
    equal(result["seeds"], [1, 2, 3])
    equal(result.columns("policies")["policy"], ["fair", "antiphase"])
    rows = result.table("policies.jobs")
    equal([(row["policy"], row["job"]) for row in rows],
          [("fair", "A"), ("fair", "B"), ("antiphase", "A"), ("antiphase", "B")])
    equal(rows[2]["slowdown.mean"], result["policies"][1]["jobs"][0]["slowdown"]["mean"])
    raises(KeyError, "policies", result.table, "jobs")
    raises(KeyError, "policy", result.table, "policies.links")


def tables_of_a_sweep():
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "results")
        axes = {"policy": ["none", "antiphase"], "set.sim.iterations": [20, 40]}
        result = antiphase.sweep(antiphase.Scenario(TWO), axes, seeds="1..2", output=output)
        rows = result.cells()
        equal([(row["policy"], row["set.sim.iterations"], row["seed"]) for row in rows],
              [(p, n, seed) for p in ("none", "antiphase") for n in (20, 40) for seed in (1, 2)])
        equal(rows[0]["summary.iteration_mean_us"], 65000)
        equal(result.cells("A")[-1]["jobs.slowdown"], 1)
        before = {name: os.stat(os.path.join(output, "cells", name)).st_mtime_ns
                  for name in os.listdir(os.path.join(output, "cells"))}
        axes["set.sim.iterations"].append(60)
        equal(len(antiphase.sweep(antiphase.Scenario(TWO), axes, "1..2", output=output).cells()), 12)
        after = {name: os.stat(os.path.join(output, "cells", name)).st_mtime_ns for name in before}
        equal(before, after)
    raises(antiphase.Error, "nothing", antiphase.sweep, example("two-jobs.ini"),
           {"policy": ["nothing"]})
    raises(ValueError, "sweep", antiphase.sweep, example("two-jobs.ini"), {"policy": ["a\nb"]})


def fabrics():
    fabric = antiphase.Fabric.generate("leaf-spine", leaves=2, hosts_per_leaf=2, spines=1, gbps=50)
    equal(fabric.document["cables"],
          antiphase.Fabric.load(example("two-jobs-fabric.json")).document["cables"])
    equal(len(antiphase.Fabric.load(example("topology.conf")).document["hosts"]), 16)
    own = antiphase.Fabric.of_cables({"leaf0": 1}, {"a": 8, "b": 8},
                                     [("a", "leaf0", 100), ("b:eth0", "leaf0", 200)])
    equal(own.summary()["slots"], 16)
    equal([row["capacity_bps"] for row in own.path("a", "b").table("links")], [100e9, 200e9])
    equal({row["link"] for row in own.links_of(["a", "b"]).table("links")},
          {"a:p0>leaf0:p0", "leaf0:p0>a:p0", "b:eth0>leaf0:p1", "leaf0:p1>b:eth0"})
    equal((own.check().status, own.check()["faults"]), (0, []))
    own.document["hosts"].append({"name": "c"})
    check = own.check()
    equal((check.status, bool(check.table("faults"))), (1, True))


def compatibility():
    files = [example("vgg16.json"), example("wideresnet.json")]
    result = antiphase.compat(files, 50)
    equal(result["score"], json.loads(printed("compat", "-c", "50", *files, "--json"))["score"])
    with open(example("models.json"), encoding="utf-8") as file:
        document = json.load(file)
    equal(antiphase.compat(document, 12.5, solver="cassini").columns("jobs")["job"],
          [profile["job"] for profile in document["profiles"]])
    equal(antiphase.compat(files, 30, min_score=1).status, 1)
    advice = antiphase.call("advise", jobs=example("two-jobs.ini"))
    equal(advice["schema"], "antiphase.advice/2")


def errors_are_the_programs_own():
    error = raises(antiphase.Error, "did you mean '--policy'", antiphase.run,
                   example("two-jobs.ini"), polcy="fair")
    equal(error.status, 2)
    equal(str(error) + "\n", printed("sim", "run", example("two-jobs.ini"), "--polcy=fair"))
    missing = example("missing.ini")
    equal(str(raises(antiphase.Error, missing, antiphase.run, missing)) + "\n",
          printed("sim", "run", missing))
    raises(antiphase.Error, "scenario.ini:8", antiphase.run,
           antiphase.Scenario({"sim": {}, "fabric": TWO["fabric"], "job A": {"hosts": "h0", "sgment": "x"}}))
    raises(antiphase.Error, "unknown format", antiphase.Fabric.load, example("two-jobs.ini"))


def programs_are_found():
    wanted = antiphase.run(example("two-jobs.ini"))
    os.environ["PATH"] = "/nonexistent"
    try:
        error = raises(antiphase.Error, "'program'", antiphase.run, example("two-jobs.ini"))
        equal(error.status, None)
        for program in (BUILD, os.path.join(BUILD, "antiphase")):
            equal(antiphase.run(example("two-jobs.ini"), program=program), wanted)
            antiphase.Fabric.generate("ring", program=program, switches=4)
    finally:
        os.environ["PATH"] = PATH


def no_other_module():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import antiphase; import json; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code, os.path.join(ROOT, "lib", "python")],
                          capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    equal(loaded - set(sys.stdlib_module_names) - {"antiphase", "__main__"}, set())


# Script: its columns, the number of its rows, and some rows.
SCRIPTS = {
    "shifts.py": ("shift_ms job iteration_mean_ms", 20, [["0", "A", "65.0"], ["25", "B", "45.0"]]),
    "policies.py": ("policy slowdown_mean slowdown_ci95 goodput_mean goodput_ci95", 3,
                    [["antiphase", "1", "0", "1", "0"]]),
    "timeline.py": ("link time_ms used over", None, []),
    "grid.py": ("policy jitter seed goodput", 12, [["antiphase", "0%", "1", "1"]]),
    "capacity.py": ("capacity_gbps score score_chance score_unshifted", 8, [["90", "1", "1", "1"]]),
    "stalls.py": ("model compute_ms jitter stall_share stall_ms distance chance", 2, []),
    "loads.py": ("collective link factor", None, [["ring", "leaf0:p2>spine0:p0", "1"]]),
}


def scripts():
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "lib", "python"))
    equal(sorted(n for n in os.listdir(example("python")) if n.endswith(".py")), sorted(SCRIPTS))
    for name, (columns, n_rows, some) in SCRIPTS.items():
        done = subprocess.run([sys.executable, "-B", example("python/" + name)], env=env,
                              capture_output=True, text=True, check=False)
        equal(done.stderr, "")
        head, *rows = csv.reader(io.StringIO(done.stdout))
        equal(head, columns.split())
        equal(len(rows), len(rows) if n_rows is None and rows else n_rows)
        equal([row for row in some if row not in rows], [])


def pandas_takes_tables():
    import pandas
    result = antiphase.run(antiphase.Scenario(TWO))
    equal(pandas.DataFrame(result.table("jobs")).iteration_mean_us.mean(), 65000)
    equal(list(pandas.DataFrame(result.columns("links")).link),
          [row["link"] for row in result["links"]])


def main():
    os.environ["PATH"] = PATH
    cases = [scenarios_from_data, scenarios_from_files, scenarios_that_cannot_be,
             tables_of_compare, tables_of_a_sweep, fabrics, compatibility,
             errors_are_the_programs_own, programs_are_found, no_other_module, scripts,
             pandas_takes_tables]
    failed = False
    for case in cases:
        name = "python: " + case.__name__.replace("_", " ")
        try:
            case()
            print("PASS", name)
        except ModuleNotFoundError as error:
            print(f"SKIP {name}: {error}")
        except Exception:  # Each case reports by itself.
            print("FAIL", name)
            traceback.print_exc()
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
