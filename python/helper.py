"""Shared by the programs of this folder. Each reads its job from a JSON file, and prints one JSON object on standard
output: its answer, or {"problem": "...", "isLacking": ...} for a problem that the user can fix."""

import importlib
import json
import sys


class Problem(Exception):
    """A problem that the user can fix, in one line."""


def needs(*packages):
    """The packages. Without them, the program ends and prints how to install them."""
    try:
        return [importlib.import_module(name) for name in packages]
    except ImportError as error:
        problem = f"{error}: {sys.executable} -m pip install {' '.join(packages)}, or name another Python in $BENCH_PYTHON"
        print(json.dumps({"problem": problem, "isLacking": True}))
        sys.exit()


def run(work):
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    try:
        answer = work(job)
    except Problem as problem:
        answer = {"problem": str(problem), "isLacking": False}
    print(json.dumps(answer))


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:400]
