#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo.py - tests demo_live.py on synthetic runs, whose times are known.

The plan is that of tests/net/demo_plan.py.  An isolated iteration of a job takes a
round number of ms.  In observe it takes a fifth longer.  In enforce it takes a fifth
longer until iteration SETTLES, and then as long as an isolated one.  Prints PASS and
FAIL lines for tests/run.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.getcwd()
NET = os.path.join(ROOT, "tests", "net")
sys.path[:0] = [NET, os.path.join(ROOT, "tests")]
import demo_figures  # noqa: E402
import demo_plan  # noqa: E402
import demo_verdicts  # noqa: E402
import json_shapes  # noqa: E402

SLOWER = 1.2
SETTLES = 25  # Iterations in enforce.
SEND_S = 0.1
BEGAN_S = 1000.0
failed = False


def say(name, is_so, why=""):
    global failed
    print("PASS" if is_so else "FAIL", "demo: " + name)
    if not is_so:
        print("%s: %s" % (name, why), file=sys.stderr)
        failed = True


def is_near(value, expected, within=1e-6):
    return value is not None and abs(value - expected) <= within


def seconds_of(run, job, planned, number):
    """Returns the duration of an iteration in seconds."""
    usual = {"A": 0.3, "B": 0.4, "C": 0.5}[job]
    if planned["change_at"] and number >= planned["change_at"]:
        usual *= planned["factor"]
    if run["links"] == "apart" or len(run["jobs"]) == 1:
        return usual
    if run["mode"] == "enforce" and number >= SETTLES:
        return usual
    return SLOWER * usual


def write_truth(path, run, job, planned):
    at = BEGAN_S
    with open(path, "w") as file:
        for number in range(planned["iterations"]):
            took = seconds_of(run, job, planned, number)
            print("%d %.6f %.6f %.6f" % (number, at, at + took - SEND_S, at + took),
                  file=file)
            at += took


def write_run(folder, run):
    os.makedirs(folder)
    enforced = run["mode"] == "enforce"
    for job, planned in run["jobs"].items():
        write_truth(os.path.join(folder, "truth." + job), run, job, planned)
        with open(os.path.join(folder, "out." + job), "w") as file:
            file.write("antiphase: pid 1: 9 calls (9 allreduce), %d waits of %.3f ms in "
                       "all\n" % ((3, 30.0) if enforced else (0, 0.0)))
    with open(os.path.join(folder, "orders"), "w") as file:
        for i in range(100):
            pacers, flows = 6 * i if enforced and i >= 5 else 0, 0
            if run["links"] == "paths":
                pacers, flows = 0, 6 if enforced and i >= 7 else 0
            print("%.3f %d %d" % (BEGAN_S + i / 2, pacers, flows), file=file)
    connections = "h0 a:1 b:2\nh1 c:1 d:2\n"
    for name, text in (("retransmits", "7\n"), ("cpu", "40.0 60.0 10.0\n"),
                       ("connections", connections), ("connections.later", connections)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def write_all(folder, *cases):
    env = dict(os.environ, DEMO_PAIRS="2", DEMO_SECONDS="40", DEMO_ALONE_SECONDS="9")
    lines = subprocess.run([sys.executable, os.path.join(NET, "demo_plan.py"), folder,
                            *cases], env=env, capture_output=True, text=True, check=True)
    with open(os.path.join(folder, "plan.json")) as file:
        plan = json.load(file)
    for case in plan["cases"]:
        for run in case["runs"]:
            write_run(os.path.join(folder, case["case"], run["run"]), run)
    return plan, lines.stdout.splitlines()


def simulate(folder):
    """Runs the simulator on a fabric with the names of the lab's hosts."""
    env = dict(os.environ, PATH=os.path.join(ROOT, os.environ["B"]) + ":" +
               os.environ["PATH"])
    for name, spines, gbps in (("fabric", "1", "0.3"), ("paths", "2", "0.14")):
        with open(os.path.join(folder, name + ".json"), "w") as file:
            subprocess.run(["antiphase", "topology", "generate", "leaf-spine", "--leaves",
                            "2", "--hosts-per-leaf", "3", "--spines", spines, "--gbps",
                            gbps, "--uplink-gbps", "0.3"], env=env, stdout=file, check=True)
    subprocess.run([sys.executable, os.path.join(NET, "demo_sim.py"), folder], env=env,
                   check=True)


def report(folder, *options):
    done = subprocess.run([sys.executable, os.path.join(NET, "demo_live.py"), folder,
                           *options], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_plan(plan, lines):
    runs = [run for case in plan["cases"] for run in case["runs"]]
    say("a line for each run that is planned, in order",
        [line.split()[1] for line in lines] == [run["run"] for run in runs], lines)
    equal = {run["run"]: run for run in plan["cases"][0]["runs"]}
    say("both runs of a pair are the same but for the mode",
        equal["observe.1"]["jobs"] == equal["enforce.1"]["jobs"])
    say("pairs are not",
        equal["observe.0"]["jobs"]["A"]["seed"] != equal["observe.1"]["jobs"]["A"]["seed"]
        and equal["observe.0"]["jobs"]["A"]["start_ms"] !=
        equal["observe.1"]["jobs"]["A"]["start_ms"])
    order = [run["run"] for run in plan["cases"][0]["runs"] if run["pair"] is not None and
             len(run["jobs"]) > 1 and run["links"] == "shared"]
    say("what comes first alternates",
        order == ["observe.0", "enforce.0", "enforce.1", "observe.1"], order)


def test_control():
    plan = demo_plan.Case("change", {}).plan(True)
    control = plan["runs"][-1]
    say("in the control all run at once, and nobody changes", control["links"] == "apart" and
        [job["change_at"] for job in control["jobs"].values()] == [0, 0, 0], control)


def test_figures(result):
    observe, enforce = result["modes"]
    say("slowdown of observe", is_near(observe["slowdown"], SLOWER), observe["slowdown"])
    say("of the second half of enforce", is_near(enforce["slowdown_second_half"], 1),
        enforce["slowdown_second_half"])
    say("of all of enforce, between", 1 < enforce["slowdown"] < SLOWER)
    say("what differs", is_near(result["difference"]["slowdown"],
                                enforce["slowdown"] - observe["slowdown"]) and
        is_near(result["difference"]["slowdown_ci95"], 0))
    say("the first shift", is_near(enforce["first_shift_us"], 2.5e6), enforce)
    # C settles last: its first 25 iterations take 0.6 s each.  Of 16 consecutive
    # iterations, four may be slow (20 % longer each: 5 % in the mean).
    say("settled", is_near(enforce["settled_us"] / 1e6, (SETTLES - 4) * 0.6, 0.6) and
        observe["settled_us"] is None, enforce["settled_us"])
    say("waited", enforce["waited_us_per_iteration"] > 0 and
        observe["waited_us_per_iteration"] == 0)
    say("the control", is_near(result["control"]["slowdown"], 1), result["control"])
    say("who used the CPUs", is_near(observe["cpus_lab"], 1.5) and
        is_near(observe["cpus_others"], 0.25))
    words = {v["bar"]: v["verdict"] for v in result["verdicts"]}
    say("verdicts", words == {
        "slowdown with at most 1.03, mean of the 2 of 2 pairs with at least 1.15 without":
            "missed",
        "slowdown with at most 1.03, whole runs": "missed",
        "slowdown with at most 1.03, second halves": "met",
        "all at once on links of their own at most 1.02": "met"}, words)


def test_change(result):
    observe, enforce = result["modes"]
    say("a job that computes longer has another time alone",
        is_near(result["alone"][2]["changed_mean_us"], 1.3 * 500e3), result["alone"][2])
    say("starts are simulated, and no pairs", result["simulated"]["modes"] == [] and
        len(result["simulated"]["random_starts"]) == 2)
    # All 25 slow iterations of C precede the change.
    say("since the change", is_near(observe["slowdown_after_change"], SLOWER) and
        is_near(enforce["slowdown_after_change"], 1), enforce["slowdown_after_change"])
    say("settled again", observe["settled_again_us"] is None and
        enforce["settled_again_us"] < 1e6, enforce["settled_again_us"])


def test_paths(result):
    enforce = result["modes"][1]
    say("the first path", is_near(enforce["first_path_us"], 3.5e6) and
        enforce["first_shift_us"] is None, enforce)
    say("since antiphase was killed", is_near(result["killed"]["slowdown_second_half"], 1),
        result["killed"])
    ecmp, chosen = (mode["mean"] for mode in result["simulated"]["random_starts"])
    say("simulated: three jobs on an uplink, or two", ecmp > 1.15 and chosen < 1.03,
        (ecmp, chosen))
    words = {v["bar"].split(",")[0]: v["verdict"] for v in result["verdicts"]}
    say("verdicts of paths", set(words.values()) == {"met"} and
        words["no connection is opened again"] == "met" and
        words["slowdown without at least 1.15"] == "met" and
        words["no shift: orders per job and minute"] == "met" and
        words["slowdown at most 1.03 after antiphase was killed"] == "met", words)
    say("a new connection", demo_figures.new_connections_of("/nonexistent") is None)


def test_verdicts():
    many = demo_verdicts.not_worse
    say("worse, but within noise", many("x", 0.01, 0.02)["verdict"] == "met")
    say("worse", many("x", 0.03, 0.02)["verdict"] == "missed")
    say("one pair says nothing", many("x", 0.03, None)["verdict"] == "not tested")
    pairs = [{"runs": [{"slowdown": value} for value in both]}
             for both in ((1.1, 1.06), (1.2, 1.02), (1.3, 1.03))]
    line = demo_verdicts.where_they_contend({"pairs": pairs})
    say("the bar is for pairs that lose something without",
        is_near(line["measured"], 1.025) and line["verdict"] == "met" and
        "2 of 3 pairs" in line["bar"], line)
    line = demo_verdicts.where_they_contend({"pairs": pairs[:1]})
    say("where nothing is lost nothing is gained", line["verdict"] == "not tested", line)


def test_parts():
    # Student's t with two degrees of freedom: 4.303.
    say("an interval", is_near(demo_figures.ci95([1, 2, 3]), 4.303 / 3 ** 0.5) and
        demo_figures.ci95([1]) is None)
    rows = [[(0, 0, 1, 3)], [(0, 0, 2, 5)], [(0, 0, 2.5, 4)]]
    say("overlap is where two are in it, or three", is_near(
        demo_figures.overlap_of(rows, 0, 10), 2) and
        is_near(demo_figures.overlap_of(rows, 0, 2.25), 0.25))


def main():
    folder = tempfile.mkdtemp()
    try:
        plan, lines = write_all(folder, "paths", "equal", "change")
        test_plan(plan, lines)
        simulate(folder)
        status, text, errors = report(folder, "--json")
        say("it is measured", status == 0, errors)
        document = json.loads(text)
        faults = []
        shapes = json_shapes.read_shapes("docs/json.md")
        json_shapes.check_object(document, shapes[document["schema"]], "", faults)
        say("json: what docs/json.md says", not faults, "\n".join(sorted(set(faults))))
        test_figures(document["cases"][0])
        test_change(document["cases"][1])
        test_paths(document["cases"][2])
        status, text, errors = report(folder)
        say("the text says it, too", status == 0 and "B iteration p99, ms" in text and
            text.count("bar: ") == 12, text + errors)
        status, text, errors = report(folder, "--check")
        say("a test passes", status == 0 and "FAIL" not in text, text + errors)
        os.remove(os.path.join(folder, "change", "observe.1", "truth.B"))
        status, text, errors = report(folder, "--json")
        say("what was not measured is told, and the rest is there", status == 1 and
            "case change was not measured" in errors and
            len(json.loads(text)["cases"]) == 2, errors)
        test_control()
        test_verdicts()
        test_parts()
    finally:
        shutil.rmtree(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
