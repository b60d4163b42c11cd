"""The command ``trireme``, called in a process of its own, whose results come back as data frames.

A measurement has threads, huge pages and signals of its own: what it does to a process is not done to this one.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

# What is given or left out, and has no value.
_FLAGS = {"all", "channel-faults", "dry-run", "help", "html", "progress", "quick", "salvage", "unlike"}


class CommandError(Exception):
    """The command refused what it was told, or failed: in its own words. ``code`` is its exit code."""

    def __init__(self, words, code):
        super().__init__(words)
        self.code = code


def program():
    """The command's file: that of the environment's ``TRIREME``, the one in this package, or one on the path."""
    packaged = Path(__file__).with_name("bin") / "trireme"
    found = os.environ.get("TRIREME") or (str(packaged) if packaged.exists() else shutil.which("trireme"))
    if found is None:
        raise CommandError("the command trireme is not there; allowed: one in TRIREME, in the package, or on PATH", 2)
    return found


def command(*words, **options):
    """Calls ``trireme`` with these words and options, and answers what it prints with ``--json``.

    ``multi_partition=20`` is ``--multi-partition 20``; ``True`` and ``False`` are ``on`` and ``off``, or whether a flag such as ``--progress`` is given; a list is joined by
    commas, and ``None`` is left out.
    """
    return _told(words, options)


def run(workload, **options):
    """Measures one system: a data frame of one row. ``run("ycsb", protocol="silo", theta=0.9)``"""
    told = _told(["run", workload], options)
    return _frame([told], told)


def compare(workload, **options):
    """Measures the systems by turns: a row each, the best first. ``compare("micro", only=["silo", "no-wait"])``"""
    told = _told(["compare", workload], options)
    return _frame([row for row in told["rows"] if row["supported"]], told)


def sweep(experiment, **options):
    """Measures all points of an experiment: a row each, its place on the axes first. The experiment is a file, or a mapping that says what a file would.

    Warns of systems that were left out, and says why: the engine does not have them, or they do not fit the options.

    ``sweep({"workload": "micro", "base": {"records": 10_000}, "axes": {"protocol": ["silo"], "workers": [1, 2]}}, on="haswell-ex-4x18")``
    """
    if not isinstance(experiment, Mapping):
        told = _told(["sweep", str(experiment)], options)
    else:
        with tempfile.TemporaryDirectory(prefix="trireme-") as folder:
            file = Path(folder) / "experiment.toml"
            file.write_text(_toml(experiment), encoding="utf-8")
            told = _told(["sweep", str(file)], {"out": str(Path(folder) / "results"), **options})
    if told["left_out"]:
        words = [f"{one['architecture']} {one['protocol']}: {one['why']}" for one in told["left_out"]]
        warnings.warn("left out: " + "; ".join(words), stacklevel=2)
    axes = list(told["axes"])
    frame = _frame([point["summary"] for point in told["points"]], told)
    for position, axis in enumerate(axes):
        # An axis is often a column already: what was asked for stands first.
        frame = frame.drop(columns=[axis], errors="ignore")
        frame.insert(position, axis, [_number(point["at"][axis]) for point in told["points"]])
    return frame


def check(workload, **options):
    """Whether what a system does is strictly serializable: what ``check --json`` prints, ``passed`` among it.

    ``passed`` is ``None`` if nothing wrong was seen, and too little happened to say that it is right: ``too_little`` has what would bring more.
    """
    told = _told(["check", workload], options, verdicts=(0, 1, 2))
    if told.get("too_little"):
        told["passed"] = None
    return told


def _told(words, options, verdicts=(0, 1)):
    file = program()
    line = [file, *words, "--json"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if name.replace("_", "-") in _FLAGS and isinstance(value, bool):
            line += [option] if value else []
        elif value is not None:
            line += [option, _word(value)]
    scratch = None
    # Without a place to lay results down each call would leave a folder behind.
    if words and words[0] in ("run", "compare") and "out" not in options:
        scratch = tempfile.TemporaryDirectory(prefix="trireme-")
        line += ["--out", str(Path(scratch.name) / "results")]
    try:
        code, printed, said = _called(line, echo=bool(options.get("progress")))
    except OSError as error:
        raise CommandError(f"the command {file} cannot be started: {error.strerror}; allowed: a trireme", 2) from error
    finally:
        if scratch is not None:
            scratch.cleanup()
    if code not in verdicts or not printed:
        errors = [text for text in said.splitlines() if text.startswith("error: ")]
        why = errors[-1].removeprefix("error: ") if errors else said.strip()
        raise CommandError(why or f"the command {file} ended with {code}, and printed nothing", code)
    try:
        told = json.loads(printed)
    except json.JSONDecodeError:
        told = None
    if not isinstance(told, dict):
        first = printed.strip().partition("\n")[0]
        raise CommandError(f"the command {file} printed what is no JSON object: {first!r}; allowed: words with a result", code)
    return told


def _called(line, echo):
    """Its exit code and what it wrote to both of its streams; with ``echo`` what it says of its progress is seen meanwhile."""
    said = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        with subprocess.Popen(line, stdout=printed, stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as process:
            try:
                for text in process.stderr:
                    said.append(text)
                    if echo:
                        print(text, end="", file=sys.stderr, flush=True)
            except BaseException:
                process.kill()
                raise
        printed.seek(0)
        return process.returncode, printed.read(), "".join(said)


def _word(value):
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ",".join(_word(one) for one in value)
    return str(value)


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _frame(summaries, told):
    """A row a summary; what is nested has a column by its path, ``latency_ns.p99``. ``attrs["told"]`` is all that was printed."""
    frame = pd.json_normalize(summaries)
    frame.attrs["told"] = told
    return frame


def _toml(experiment):
    """An experiment as its file: texts, numbers, lists, and tables of these."""
    plain = {name: value for name, value in experiment.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in experiment.items() if isinstance(value, Mapping)}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in plain.items()]
    for table, values in tables.items():
        lines += ["", f"[{_key(table)}]"]
        lines += [f"{_key(name.replace('_', '-'))} = {_value(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _key(name):
    return name if name.replace("-", "").replace("_", "").isalnum() else json.dumps(name)


def _value(value):
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    # JSON's texts, numbers and truths are TOML's, too.
    return json.dumps(value)
