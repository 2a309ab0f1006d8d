# SPDX-License-Identifier: Apache-2.0
"""antiphase from Python: fabrics, scenarios, simulations and their results as tables.

    import antiphase

    scenario = antiphase.Scenario({
        "sim": {"iterations": 100},
        "fabric": {"generate": "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 1"},
        "job A": {"hosts": ["h0", "h2"], "segment": ["compute 25 ms", "send 125 MB"]},
        "job B": {"hosts": ["h1", "h3"], "segment": ["compute 25 ms", "send 125 MB"]},
    })
    result = antiphase.compare(scenario, policies="fair,antiphase", seeds="1..5")
    for row in result.table("policies"):
        print(row["policy"], row["iteration_mean_us.mean"])

The module runs the program "antiphase" and reads its JSON, whose keys docs/json.md
lists.  It needs only Python's standard library.  Tables are lists of
dictionaries, or dictionaries of lists: pandas.DataFrame() takes both.

Options of a command are keyword arguments: policy="fair" is --policy fair, a list is
joined with commas, True is an option without a value, None and False leave it out, a
dictionary as in set={"jobs.jitter": "2%"} repeats the option.  The program checks them.

A failed command raises Error, whose text is the program's own line.
"""
import contextlib
import json
import os
import subprocess
import tempfile

__all__ = ["PROGRAM", "Error", "Result", "Sweep", "Fabric", "Scenario", "call", "run",
           "compare", "sweep", "compat"]

# Sought on PATH unless it has a slash; 'program' of each call takes precedence.  It finds
# antiphase-sim in its own folder.
PROGRAM = "antiphase"

# Exit status of a command whose answer is no, which is a result.
ANSWER_IS_NO = 1


class Error(Exception):
    """A command that failed.  str(): its own line; 'command', and 'status' or None."""

    def __init__(self, line, command=(), status=None):
        super().__init__(line)
        self.command = list(command)
        self.status = status


class Result(dict):
    """A document of antiphase, a dictionary as in docs/json.md, with its tables.

    'status' is the exit status: 1 if the command's answer is no (antiphase(1)).
    """

    status = 0

    def table(self, path=""):
        """Rows of the array or object at 'path', such as "jobs" or "policies.jobs".

        Each is a flat dictionary.  Objects within it have keys with a point
        ("goodput.ci95"); arrays of objects are left out, as they are tables of their
        own.  Rows of a table within others begin with the names of these: "policy".
        Without a path: one row, with the figures of the document itself.
        """
        items = [({}, self)]
        for key in path.split(".") if path else []:
            inner = []
            for outer, item in items:
                if not isinstance(item, dict) or key not in item:
                    raise KeyError(f"no table {path!r}: no {key!r} beside {_words(item)}")
                outer = {**outer, **(_name(item) if item is not self else {})}
                value = item[key]
                inner += [(outer, i) for i in (value if isinstance(value, list) else [value])]
            items = inner
        return [{**outer, **_flat(item)} for outer, item in items]

    def columns(self, path=""):
        """The same by column, {key: list}; None where a row has no such key."""
        rows = self.table(path)
        keys = dict.fromkeys(key for row in rows for key in row)
        return {key: [row.get(key) for row in rows] for key in keys}


class Sweep(Result):
    """antiphase.sim_sweep/2, with its cells as a table."""

    def cells(self, of=""):
        """A row per cell: "cell", "seed", its axes, and its metrics.

        'of' is what the metrics are about: "" the whole run, or a job, policy or link,
        such as "A" or "fair/A".
        """
        rows = []
        for cell in self["cells"]:
            row = {"cell": cell["cell"], "seed": cell["seed"]}
            row.update((axis["axis"], _number(axis["value"])) for axis in cell["axes"])
            row.update((metric["metric"], metric["value"]) for metric in cell["metrics"]
                       if metric["of"] == of)
            rows.append(row)
        return rows


def _words(item):
    return ", ".join(map(str, item)) if isinstance(item, dict) and item else "nothing"


def _name(item):
    """The first string of an object, which names it."""
    for key, value in item.items():
        if isinstance(value, str):
            return {key: value}
    return {}


def _flat(item, prefix=""):
    if not isinstance(item, dict):
        return {"value": item}
    row = {}
    for key, value in item.items():
        if isinstance(value, dict):
            row.update(_flat(value, prefix + key + "."))
        elif not (isinstance(value, list) and any(isinstance(v, dict) for v in value)):
            row[prefix + key] = value
    return row


def _number(text):
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


# ---- Commands ---------------------------------------------------------------------------


def _text(value):
    if isinstance(value, (list, tuple, range)):
        return ",".join(map(_text, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _options(options):
    """Keyword arguments as arguments of a command."""
    arguments = []
    for key, value in options.items():
        option = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
        elif isinstance(value, dict):
            arguments += [f"{option}={name}={_text(v)}" for name, v in value.items()]
        else:
            arguments.append(f"{option}={_text(value)}")
    return arguments


def _execute(arguments, program):
    """Runs a command; returns its output and its exit status, 0 or ANSWER_IS_NO."""
    program = os.fspath(program or PROGRAM)
    if os.path.isdir(program):
        program = os.path.join(program, "antiphase")
    command = [program, *map(_text, arguments)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, encoding="utf-8", errors="replace")
    except OSError as error:
        raise Error(f"{program}: {error.strerror}; install antiphase, or give its path as "
                    "'program'", command) from error
    if done.returncode not in (0, ANSWER_IS_NO) or not (done.stdout or done.returncode == 0):
        lines = done.stderr.strip().splitlines()
        raise Error(lines[-1] if lines else f"{program}: exit status {done.returncode}",
                    command, done.returncode)
    return done.stdout, done.returncode


def _document(arguments, program, kind=Result):
    printed, status = _execute(arguments, program)
    try:
        result = kind(json.loads(printed))
    except (ValueError, TypeError) as error:
        raise Error(f"antiphase: its output is not JSON: {error}", arguments, status) from error
    result.status = status
    return result


def call(*arguments, program=None, **options):
    """Any command that has --json: call("advise", fabric="f.json", jobs="jobs.ini")."""
    return _document([*arguments, *_options(options), "--json"], program)


def run(scenario, program=None, **options):
    """'antiphase sim run' of a Scenario or a file: antiphase.sim_run/2."""
    with _inputs(scenario, options) as path:
        return _document(["sim", "run", path, *_options(options), "--json"], program)


def compare(scenario, program=None, **options):
    """'antiphase sim compare' of a Scenario or a file: antiphase.sim_compare/2."""
    with _inputs(scenario, options) as path:
        return _document(["sim", "compare", path, *_options(options), "--json"], program)


def compat(profiles, capacity_gbps, program=None, **options):
    """'antiphase compat' of profiles: antiphase.compat/2.

    'profiles' is a list of files or FILE#JOB, or a document of antiphase.profiles/1.
    """
    with tempfile.TemporaryDirectory(prefix="antiphase-") as folder:
        if isinstance(profiles, dict):
            profiles = [_write_json(os.path.join(folder, "profiles.json"), profiles)]
        return _document(["compat", *profiles, f"--capacity-gbps={capacity_gbps!r}",
                          *_options(options), "--json"], program)


def sweep(scenario, axes, seeds="1", command="run", output=None, jobs=None, program=None,
          **options):
    """'antiphase sim sweep': a grid of runs times seeds, as a Sweep.

    'axes' is {option: values}: {"policy": ["none", "antiphase"], "set.jobs.jitter":
    ["0%", "2%"]}; the other options are those that all cells share.  With 'output', a
    folder, finished cells are kept there, and a second sweep runs only what is missing.
    """
    with _inputs(scenario, options) as path, \
            tempfile.TemporaryDirectory(prefix="antiphase-") as folder:
        words = ["sim", command, path, *_options(options)]
        lines = ["[sweep]", "command = " + " ".join(map(_word, words)), f"seeds = {_text(seeds)}",
                 "[axes]"]
        lines += [f"{axis} = {' '.join(_word(_text(v)) for v in values)}"
                  for axis, values in axes.items()]
        results = os.path.abspath(output) if output else os.path.join(folder, "results")
        _write(os.path.join(folder, "sweep.ini"), "".join(map("{}\n".format, lines)))
        _execute(["sim", "sweep", os.path.join(folder, "sweep.ini"), f"--output={results}",
                  *_options({"jobs": jobs})], program)
        with open(os.path.join(results, "sweep.json"), encoding="utf-8") as file:
            return Sweep(json.load(file))


def _word(word):
    """One word of the value of a key, which blanks separate."""
    if any(c in word for c in '"\n\r'):
        raise ValueError(f"not possible in a sweep: {word!r}")
    return f'"{word}"' if " " in word or ";" in word or not word else word


# ---- Fabrics ----------------------------------------------------------------------------


class Fabric:
    """A fabric; 'document' is antiphase.topology/1, and may be changed."""

    def __init__(self, document):
        self.document = document

    @classmethod
    def load(cls, path, program=None, **options):
        """Reads a file in any format that 'antiphase topology import' knows."""
        return cls(json.loads(_execute(["topology", "import", path, *_options(options)],
                                       program)[0]))

    @classmethod
    def generate(cls, kind, program=None, **options):
        """Fabric.generate("leaf-spine", leaves=6, hosts_per_leaf=4, gbps=50)"""
        return cls(json.loads(_execute(["topology", "generate", kind, *_options(options)],
                                       program)[0]))

    @classmethod
    def of_cables(cls, switches, hosts, cables, name="fabric"):
        """From Python data.

        'switches' is {name: tier}, 'hosts' a list of names or {name: slots}; a cable is
        (node, node, gbps), with "node:port" for a certain port, otherwise the next one.
        """
        n_ports = {}

        def end(node):
            if ":" in node:
                return node
            n_ports[node] = n_ports.get(node, -1) + 1
            return f"{node}:p{n_ports[node]}"

        slots = hosts if isinstance(hosts, dict) else dict.fromkeys(hosts, 1)
        return cls({
            "schema": "antiphase.topology/1", "name": name,
            "switches": [{"name": n, "tier": tier} for n, tier in switches.items()],
            "hosts": [{"name": n, "slots": count} for n, count in slots.items()],
            "cables": [{"a": end(a), "b": end(b), "gbps": gbps} for a, b, gbps in cables]})

    def save(self, path):
        """Writes the file that every command takes as a fabric."""
        return _write_json(path, self.document)

    def summary(self, **options):
        """'antiphase topology show': antiphase.topology_summary/2."""
        return self._ask("show", [], options)

    def check(self, **options):
        """'antiphase topology check': its faults; status 1 if there are any."""
        return self._ask("check", [], options)

    def path(self, source, destination, **options):
        """'antiphase topology path': the links of a flow."""
        return self._ask("path", [source, destination], options)

    def links_of(self, hosts, **options):
        """'antiphase topology links-of': the links that a job on these hosts loads."""
        return self._ask("links-of", [], {"hosts": hosts, **options})

    def _ask(self, verb, operands, options):
        options = dict(options)
        program = options.pop("program", None)
        with tempfile.TemporaryDirectory(prefix="antiphase-") as folder:
            path = self.save(os.path.join(folder, "fabric.json"))
            return _document(["topology", verb, path, *operands, *_options(options), "--json"],
                             program)


# ---- Scenarios --------------------------------------------------------------------------

# Keys that may be repeated: their lists are lines.  Other lists are joined with commas.
_REPEATED = ("segment",)


class Scenario:
    """A scenario (antiphase-scenario(5)); 'sections' is {section: {key: value}}.

    Values are text, numbers or lists.  'fabric' is a Fabric, instead of the section.
    """

    def __init__(self, sections, fabric=None):
        self.sections = {name: dict(keys) for name, keys in sections.items()}
        self.fabric = fabric

    @classmethod
    def load(cls, path):
        """Reads a file.  Its relative paths become absolute; comments are not kept."""
        folder, sections, keys = os.path.dirname(os.path.abspath(path)), {}, None
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                line = line.strip()
                if not line or line[0] in ";#":
                    continue
                if line[0] == "[" and "]" in line:
                    keys = sections.setdefault(line[1:line.index("]")], {})
                    continue
                key, found, value = line.partition("=")
                if keys is None or not found:
                    raise ValueError(f"{path}:{number}: expected 'key = value' in a section")
                key, value = key.strip(), _without_comment(value)
                if key in _REPEATED:
                    keys.setdefault(key, []).append(value)
                elif key in keys:
                    raise ValueError(f"{path}:{number}: '{key}' is there twice")
                else:
                    keys[key] = os.path.join(folder, value) if key in ("file", "profile") else value
        return cls(sections)

    def text(self):
        """The text of the file; the fabric of a Fabric is not in it."""
        lines = []
        for section, keys in self.sections.items():
            if any(c in section for c in "[]\n\r"):
                raise ValueError(f"not possible as a section: {section!r}")
            lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
            for key, value in keys.items():
                values = value if key in _REPEATED and isinstance(value, (list, tuple)) else [value]
                lines += [_line(key, _text(v)) for v in values]
        return "".join(line + "\n" for line in lines)

    def save(self, path):
        """Writes the file, and beside it that of a Fabric, PATH.fabric.json."""
        path, text = os.fspath(path), self.text()
        if self.fabric is not None:
            if "fabric" in self.sections:
                raise ValueError("both a Fabric and a section 'fabric'")
            self.fabric.save(path + ".fabric.json")
            text += "\n[fabric]\n" + _line("file", os.path.basename(path) + ".fabric.json") + "\n"
        return _write(path, text)


def _without_comment(value):
    for i in range(1, len(value)):
        if value[i] == ";" and value[i - 1].isspace():
            return value[:i].strip()
    return value.strip()


def _line(key, value):
    if any(c in f"{key}{value}" for c in "\n\r") or _without_comment(" " + value) != value.strip():
        raise ValueError(f"not possible as a value of {key!r}: {value!r}")
    return f"{key} = {value}"


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _write_json(path, document):
    return _write(path, json.dumps(document, indent=2) + "\n")


@contextlib.contextmanager
def _inputs(scenario, options):
    """The path of a scenario; a Scenario, and a Fabric among the options, become files."""
    with tempfile.TemporaryDirectory(prefix="antiphase-") as folder:
        if isinstance(options.get("fabric"), Fabric):
            options["fabric"] = options["fabric"].save(os.path.join(folder, "other.json"))
        if isinstance(scenario, Scenario):
            yield scenario.save(os.path.join(folder, "scenario.ini"))
        else:
            yield os.path.abspath(scenario)
