# SPDX-License-Identifier: Apache-2.0
"""demo_print.py - prints a case of demo_live.py as text."""


def cell(value, form="%.1f"):
    return "-" if value is None else form % value


def with_ci(value, half, form="%.3f"):
    if value is None:
        return "-"
    return form % value + ("" if half is None else " +- %.3f" % half)


def print_row(name, values, form="%.1f"):
    print("%-28s %8s %8s %8s   %8s %8s %8s" % (
        (name,) + tuple(cell(v, form) for v in values)))


def print_times(result, sims):
    observe, enforce = result["modes"]
    for i, alone in enumerate(result["alone"]):
        for key, name in (("mean_ms", "mean"), ("p50_ms", "p50"), ("p99_ms", "p99")):
            simulated = [None, None, None]
            if sims:
                simulated = [sims[0]["jobs"][i]["alone_ms"] if key == "mean_ms" else None,
                             sims[0]["jobs"][i][key], sims[1]["jobs"][i][key]]
            print_row("%s iteration %s, ms" % (alone["job"], name),
                      [alone[key], observe["jobs"][i][key], enforce["jobs"][i][key]] +
                      simulated)
        if alone["changed_mean_ms"] is not None:
            print_row("%s later, ms" % alone["job"],
                      [alone["changed_mean_ms"]] + [None] * 5)


def print_figures(result, sims):
    observe, enforce = result["modes"]
    control = result["control"]
    print_row("slowdown, mean", [1, observe["slowdown"], enforce["slowdown"]] +
              ([1, sims[0]["slowdown"], sims[1]["slowdown"]] if sims else [None] * 3),
              "%.3f")
    print_row("  in second halves", [1, observe["slowdown_second_half"],
                                     enforce["slowdown_second_half"]] + [None] * 3, "%.3f")
    if observe["slowdown_after_change"] is not None:
        print_row("  since the change", [1, observe["slowdown_after_change"],
                                              enforce["slowdown_after_change"]] +
                  [None] * 3, "%.3f")
    for key, name, form in (
            ("overlap_ms_per_iteration", "overlap an iteration, ms", "%.1f"),
            ("retransmits", "retransmits a run", "%.0f"),
            ("orders_per_job_minute", "orders a job a minute", "%.1f"),
            ("waited_ms_per_iteration", "waited an iteration, ms", "%.1f"),
            ("first_shift_s", "first shift, s (worst)", "%.1f"),
            ("first_path_s", "first path, s (worst)", "%.1f"),
            ("settled_s", "settled, s (worst)", "%.1f"),
            ("settled_again_s", "settled again, s (worst)", "%.1f")):
        if key == "settled_again_s" and observe["slowdown_after_change"] is None:
            continue
        if key == "first_path_s" and result["case"] != "paths":
            continue
        simulated = [None, None, None]
        if sims and key in sims[0]:
            simulated = [None, sims[0][key], sims[1][key]]
        print_row(name, [None, observe[key], enforce[key]] + simulated, form)
    print("CPUs in use: %.2f in observe, %.2f in enforce; by others %.2f and %.2f." % (
        observe["cpus_lab"], enforce["cpus_lab"], observe["cpus_others"],
        enforce["cpus_others"]))
    if control:
        print("Control, all at once on links of their own: slowdown %.3f (%s)." % (
            control["slowdown"], ", ".join("%s %.3f" % (j["job"], j["slowdown"])
                                           for j in control["jobs"])))
    if result["killed"]:
        print("Since antiphase was killed in the middle of a run: slowdown %.3f." %
              result["killed"]["slowdown_second_half"])
    print("Alone, standard deviation of iterations, ms: %s." % ", ".join(
        "%s %.1f" % (a["job"], a["sd_ms"]) + (
            "" if a["run_sd_ms"] is None else " (of runs %.1f)" % a["run_sd_ms"])
        for a in result["alone"]))


def print_pairs(result):
    has_change = result["modes"][0]["slowdown_after_change"] is not None
    print("\n%-5s %-20s %-8s %-18s %-18s%s %-7s %-7s %s" % (
        "pair", "starts, ms", "first", "observe (2nd half)", "enforce (2nd half)",
        "   later: obs, enf" if has_change else "", "shift", "settled",
        "simulated" if result["simulated"]["modes"] else ""))
    for pair in result["pairs"]:
        both = pair["runs"]
        later = "   %.3f %.3f     " % tuple(run["slowdown_after_change"] for run in both
                                            ) if has_change else ""
        key = "settled_again_s" if has_change else "settled_s"
        print("%-5d %-20s %-8s %-18s %-18s%s %-7s %-7s %s" % (
            pair["pair"], " ".join("%.0f" % ms for ms in pair["starts_ms"]), pair["first"],
            *("%.3f (%.3f)" % (r["slowdown"], r["slowdown_second_half"]) for r in both),
            later, cell(both[1]["first_shift_s"]), cell(both[1][key]),
            " ".join("%.3f" % run["simulated_slowdown"] for run in both
                     if run["simulated_slowdown"] is not None)))
    differ = result["difference"]
    for key, name in (("slowdown", "whole runs"), ("slowdown_second_half", "second halves"),
                      ("slowdown_after_change", "since the change")):
        if differ[key] is not None:
            print("enforce - observe, %s: %s; observe %s, enforce %s" % (
                name, with_ci(differ[key], differ[key + "_ci95"], "%+.3f"),
                *(with_ci(mode[key], mode[key + "_ci95"]) for mode in result["modes"])))
    print("%s, simulated: %s." % (
        "After the change, any starts" if has_change else "Other starts", "; ".join(
            "%s %.3f (%.3f to %.3f, %d runs)" % (
                s["mode"], s["mean"], s["min"], s["max"], s["runs"])
            for s in result["simulated"]["random_starts"])))


def print_case(result):
    sims = result["simulated"]["modes"]
    print("%s: %s; load of the uplink %.2f" % (result["case"], result["title"],
                                               result["load"]))
    print(("%-28s %8s %17s   %9s" % ("", "REAL", "", "SIMULATED")).rstrip())
    print("%-28s %8s %8s %8s   %8s %8s %8s" % (
        "", "alone", "observe", "enforce", "alone", "observe", "enforce"))
    print_times(result, sims)
    print_figures(result, sims)
    print_pairs(result)
    print()
    for line in result["verdicts"]:
        print("bar: %s: %s: %s" % (line["bar"], line["text"], line["verdict"]))
    print()
