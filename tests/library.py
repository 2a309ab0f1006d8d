#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""library.py ROOT PREFIX - libantiphase as installed below ROOT (DESTDIR) in PREFIX.

lib/libantiphase.map, the installed headers, and both libraries have the same names, of
functions and of constants.  Each header compiles alone.  examples/library.c is built
outside the tree with pkg-config's flags, with the shared and with the static library,
and prints what it should; what is not exported cannot be linked.  Prints PASS, FAIL and
SKIP lines; tests/install.sh runs it.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, PREFIX = sys.argv[1:]
HERE = ROOT + PREFIX
HEADERS = HERE + "/include/antiphase"
SHARED, STATIC = HERE + "/lib/libantiphase.so", HERE + "/lib/libantiphase.a"
# Its functions are for the library itself; the map has those that its users need.
INTERNAL = "lib/base/"
OUTPUT = """shared link       leaf0:p2>spine0:p0
shift             22.500 ms, +- 2.500 ms
iteration         65.00 ms, shifted 45.00 ms
"""


def verdict(failed, what):
    print("FAIL" if failed else "PASS", "library:", what)
    if failed:
        print(f"library: {what}: {failed}", file=sys.stderr)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def read_map():
    """{header: names}; a comment in the map names the header of the names below it."""
    names, header = {}, None
    text = open("lib/libantiphase.map", encoding="utf-8").read()
    for line in text.partition("global:")[2].partition("local:")[0].splitlines():
        comment = re.search(r"/\* (\S+) \*/", line)
        if comment:
            header = comment[1]
            names[header] = set()
        elif line.strip():
            names[header].add(line.strip(" \t;"))
    return names


def declared(header):
    """Names of the functions and variables that a header declares."""
    text = open(header, encoding="utf-8").read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(.*\\\n)*.*$", "", text, flags=re.M)
    while "{" in text:
        text = re.sub(r"\{[^{}]*\}", " ", text)
    found = set()
    for statement in text.split(";"):
        name = re.search(r"^[^(]*?\b(\w+)\s*\(", statement)
        variable = re.search(r"\bextern\b[^(]*?\b(\w+)\s*(\[|$)", statement)
        found.update(m[1] for m in (name, variable) if m)
    return found


def check_names(names):
    installed = {os.path.relpath(os.path.join(where, name), HEADERS)
                 for where, _, files in os.walk(HEADERS) for name in files} - {"pacer.h"}
    faults = []
    for header in sorted(installed | set(names)):
        path = os.path.join(HEADERS, header)
        have = declared(path) if os.path.exists(path) else set()
        mapped = names.get(header, set())
        faults += [f"{header}: {name} is in the map, not declared" for name in mapped - have]
        if not header.startswith(INTERNAL):
            faults += [f"{header}: {name} is declared, not in the map" for name in have - mapped]
    verdict(faults, "the map has what the installed headers declare")

    wanted = set().union(*names.values())
    printed = run("nm", "-D", "--defined-only", SHARED).stdout.split("\n")
    shared = {line.split()[-1] for line in printed if line}
    verdict(shared ^ {name + "@@ANTIPHASE_0" for name in wanted} ^ {"ANTIPHASE_0"},
            "the shared library exports what is in the map, with its version")
    printed = run("nm", "-g", "--defined-only", STATIC).stdout.split("\n")
    static = {line.split()[-1] for line in printed if len(line.split()) == 3}
    verdict(static ^ wanted, "the static library exports the same")
    dynamic = run("readelf", "-d", SHARED).stdout
    verdict("[libantiphase.so.0]" not in dynamic and dynamic, "its soname is libantiphase.so.0")
    return installed


def check_headers(installed, flags, folder):
    faults = []
    for header in sorted(installed):
        done = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *flags,
                   "-include", header, "-x", "c", "/dev/null", cwd=folder)
        faults += [done.stderr] if done.returncode else []
    verdict(faults or not installed, "each header compiles alone")


def pkg_config(*options):
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=ROOT, PKG_CONFIG_PATH=HERE + "/lib/pkgconfig")
    return shlex.split(run("pkg-config", *options, "antiphase", env=env).stdout)


def check_example(folder):
    source = HERE + "/share/doc/antiphase/examples/library.c"
    env = dict(os.environ, LD_LIBRARY_PATH=HERE + "/lib")
    for what, options in (("shared", ["--cflags", "--libs"]),
                          ("static", ["--cflags", "--libs", "--static"])):
        flags = pkg_config(*options)
        if what == "static":
            flags = ["-l:libantiphase.a" if f == "-lantiphase" else f for f in flags]
        built = run("cc", "-Wall", "-Wextra", "-Werror", source, "-o", what, *flags, cwd=folder)
        done = run("./" + what, cwd=folder, env=env) if not built.returncode else built
        verdict(done.stdout != OUTPUT and (done.stdout + done.stderr or "no output"),
                f"examples/library.c, {what}")
    own = "int log_set_level(int); int main(void) { return log_set_level(0); }"
    linked = run("cc", "-x", "c", "-", "-o", "own", *pkg_config("--libs"), cwd=folder, input=own)
    verdict("undefined reference" not in linked.stderr and "it was linked",
            "what is not exported cannot be linked")


def main():
    installed = check_names(read_map())
    with tempfile.TemporaryDirectory() as folder:
        check_headers(installed, ["-I" + HEADERS], folder)
        if any(word in os.environ["B"] for word in ("address", "thread", "undefined")):
            print("SKIP library: examples/library.c: of a sanitized build")
        else:
            check_example(folder)


if __name__ == "__main__":
    main()
