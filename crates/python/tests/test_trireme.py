"""The package as a wheel has it: python -m unittest discover crates/python/tests, with the wheel installed."""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import pandas as pd

import trireme
from trireme.command import _FLAGS, program

SHORT = dict(records=2000, duration="50ms", warmup="5ms", workers=2)


class Results(unittest.TestCase):
    def test_a_run_is_a_row(self):
        frame = trireme.run("micro", protocol="silo", repeat=2, **SHORT)
        self.assertEqual(len(frame), 1)
        row = frame.iloc[0]
        self.assertEqual((row["protocol"], row["workers"], row["workload"]), ("silo", 2, "micro"))
        self.assertGreater(row["throughput_per_s"], 0)
        self.assertGreater(row["latency_ns.p99"], 0)
        self.assertEqual(frame.attrs["told"]["throughput_per_s"], row["throughput_per_s"])

    def test_a_comparison_is_ranked(self):
        frame = trireme.compare("micro", only=["shared-everything silo", "shared-everything no-wait"], repeat=2, **SHORT)
        self.assertEqual(set(frame["protocol"]), {"silo", "no-wait"})
        self.assertTrue(frame["throughput_per_s"].is_monotonic_decreasing)

    def test_a_sweep_has_its_axes_first(self):
        base = dict(records=1000, duration="30us", warmup="10us", repeat=2)
        experiment = {"workload": "micro", "base": base, "axes": {"protocol": ["silo", "no-wait"], "workers": [1, 4]}}
        frame = trireme.sweep(experiment, on="haswell-ex-4x18")
        self.assertEqual(list(frame.columns[:2]), sorted(["protocol", "workers"]))
        self.assertEqual(len(frame), 4)
        table = frame.pivot(index="workers", columns="protocol", values="throughput_per_s")
        self.assertTrue((table.loc[4] > table.loc[1]).all(), table)
        self.assertTrue(frame["simulated"].all())

    def test_a_check_has_a_verdict(self):
        told = trireme.check("micro", canary="no-read-validation", records=100, writes=50, transactions=20000, workers=2)
        self.assertIs(told["passed"], False)

    def test_too_little_is_neither_right_nor_wrong(self):
        told = trireme.check("lost-update", protocol="silo", transactions=9, workers=3)
        self.assertIsNone(told["passed"])
        self.assertIn("too_little", told)

    def test_a_sweep_warns_of_what_it_leaves_out(self):
        base = dict(records=1000, duration="30us", warmup="10us", repeat=1)
        experiment = {"workload": "micro", "base": base, "axes": {"architecture": ["dora"], "protocol": ["dl-detect", "silo"]}}
        with self.assertWarnsRegex(UserWarning, "left out: dora silo: "):
            frame = trireme.sweep(experiment, on="haswell-ex-4x18")
        self.assertEqual(list(frame["protocol"]), ["dl-detect"])

    def test_flags_are_given_or_left_out(self):
        seen = io.StringIO()
        with contextlib.redirect_stderr(seen):
            frame = trireme.run("micro", protocol="silo", progress=True, records=2000, duration="1500ms", warmup="5ms", workers=1)
        self.assertEqual(len(frame), 1)
        self.assertTrue(seen.getvalue())
        trireme.run("micro", protocol="silo", progress=False, **SHORT)
        flags = {"help"}
        for name in ["run", "sweep", "check", "crash", "diff", "doctor", "recover", "reproduce"]:
            said = subprocess.run([program(), name, "--help"], capture_output=True, text=True, check=True).stdout
            flags.update(re.findall(r"^ +(?:-\w, )?--([a-z-]+)(?: {2,}|$)", said, re.MULTILINE))
        self.assertEqual(_FLAGS, flags - {"json", "version"})

    def test_what_is_refused_is_told(self):
        with self.assertRaisesRegex(trireme.CommandError, "allowed: ") as refused:
            trireme.run("micro", protocol="none of these")
        self.assertEqual(refused.exception.code, 2)
        with self.assertRaisesRegex(trireme.CommandError, "no JSON object"):
            trireme.run("micro", help=True)

    def test_a_command_that_is_none_is_told(self):
        for file, words in [("/bin/echo", "no JSON object"), ("/bin/true", "printed nothing"), ("/nowhere/trireme", "cannot be started")]:
            with mock.patch.dict(os.environ, TRIREME=file), self.assertRaisesRegex(trireme.CommandError, words):
                trireme.run("micro")

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            code = "import trireme; trireme.run('micro', protocol='silo', records=1000, duration='20ms')"
            subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_the_module_is_the_command(self):
        ended = subprocess.run([sys.executable, "-m", "trireme", "list", "--json"], capture_output=True, check=True)
        self.assertIn("workloads", json.loads(ended.stdout))


def example():
    """The script that draws figure 2, as a module."""
    file = Path(__file__).parents[1] / "examples" / "figure_2.py"
    spec = importlib.util.spec_from_file_location("figure_2", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FigureTwo(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("tomllib"), "Python 3.11 reads TOML")
    def test_its_panels_are_the_repositorys_experiments(self):
        import tomllib

        figure = example()
        for panel in "abcd":
            file = Path(__file__).parents[3] / "experiments" / "trireme" / f"fig-2{panel}.toml"
            theirs, ours = tomllib.loads(file.read_text(encoding="utf-8")), figure.experiment(panel)
            how_long = {"warmup", "duration", "repeat"}
            self.assertEqual(
                {name: value for name, value in ours["base"].items() if name not in how_long},
                {name: value for name, value in theirs["base"].items() if name not in how_long},
            )
            self.assertEqual(ours["workload"], theirs["workload"])
            systems, all_systems = ours["axes"].pop("system"), theirs["axes"].pop("system")
            # The file of 2c has three more, which the paper speaks of and does not draw.
            self.assertEqual(systems, all_systems[: len(systems)])
            self.assertEqual(len(systems), {"a": 3, "b": 3, "c": 5, "d": 4}[panel])
            self.assertEqual(ours["axes"], theirs["axes"])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "the example draws with matplotlib")
    def test_panels_are_drawn_alone_and_together(self):
        figure = example()
        asked = []

        def sweep(experiment, on):
            asked.append((experiment["title"], on))
            (over,) = set(experiment["axes"]) - {"system"}
            rows = [
                {"system": system, over: at, "workers": at if over == "workers" else 4, "throughput_per_s": 1e6 * (at + 1)}
                for system in experiment["axes"]["system"]
                for at in experiment["axes"][over]
            ]
            return pd.DataFrame(rows)

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(trireme, "sweep", sweep):
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                figure.main([f"{folder}/two.png", "--quick", "--only", "d,b"])
                figure.main([f"{folder}/quick.png", "--quick"])
            drawn = {file.name: file.read_bytes() for file in Path(folder).iterdir()}
        self.assertEqual(set(drawn), {"two.png", "two-b.png", "two-d.png", "quick.png", "quick-a.png", "quick-d.png"})
        for picture in drawn.values():
            self.assertTrue(picture.startswith(b"\x89PNG"))
        width = lambda name: int.from_bytes(drawn[name][16:20], "big")
        self.assertEqual(width("two.png"), 2 * width("two-b.png"))
        titles = ["Figure 2d: No hot records", "Figure 2b: NO_WAIT", "Figure 2a: DL_DETECT", "Figure 2d: No hot records"]
        self.assertEqual(asked, [(title, "haswell-ex-4x18") for title in titles])
        self.assertIn("Figure 2b, NO_WAIT: transactions per second", told.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            figure.main(["--only", "a,e"])
        self.assertIn("a,e: allowed: some of a,b,c,d, between commas", said.getvalue())


class Databases(unittest.TestCase):
    def test_what_was_committed_is_there_again(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "db"
            with trireme.Database(place, durability="sync") as db:
                table = db.table("ships", key=str)
                db.transact(lambda tx: tx.insert(table, "Olympias", {"oars": 170}))
            with trireme.Database(place) as db:
                table = db.table("ships", key=str)
                self.assertEqual(db.tables(), ["ships"])
                self.assertEqual(db.transact(lambda tx: tx.get(table, "Olympias")), {"oars": 170})
                self.assertGreater(db.verify(), 0)

    def test_rows_of_each_kind_of_keys(self):
        db = trireme.Database()
        for kind, keys in [(int, [-1, 0, 7]), (str, ["", "a", "b"]), (bytes, [b"", b"\x00", b"\xff"])]:
            table = db.table(f"of_{kind.__name__}", key=kind, value=bytes)

            def fill(tx):
                for key in keys:
                    tx.put(table, key, repr(key).encode())
                return tx.range(table)

            self.assertEqual(db.transact(fill), [(key, repr(key).encode()) for key in keys])
            part = db.transact(lambda tx: tx.range(table, keys[1], keys[2]))
            self.assertEqual([key for key, _ in part], [keys[1]])
            self.assertEqual(len(db.transact(lambda tx: tx.range(table, limit=2))), 2)
            self.assertTrue(db.transact(lambda tx: tx.remove(table, keys[0])))
            self.assertIsNone(db.transact(lambda tx: tx.get(table, keys[0])))

    def test_what_a_function_raises_undoes_it(self):
        db = trireme.Database()
        table = db.table("t")

        def fails(tx):
            tx.put(table, 1, "never")
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            db.transact(fails)
        self.assertIsNone(db.transact(lambda tx: tx.get(table, 1)))

    def test_errors_have_words(self):
        db = trireme.Database()
        table = db.table("t")
        db.transact(lambda tx: tx.insert(table, 1, 1))
        with self.assertRaises(trireme.Exists):
            db.transact(lambda tx: tx.insert(table, 1, 2))
        with self.assertRaisesRegex(TypeError, "allowed: an int"):
            db.transact(lambda tx: tx.get(table, "one"))
        with self.assertRaisesRegex(ValueError, "allowed: int, str, bytes"):
            db.table("u", key=float)
        with self.assertRaisesRegex(ValueError, "protocol"):
            trireme.Database(protocol="none of these")
        with self.assertRaisesRegex(ValueError, "slots 0: allowed: 1 to 1024"):
            trireme.Database(slots=0)
        with self.assertRaisesRegex(ValueError, "memory_limit 0: allowed: "):
            trireme.Database(memory_limit=0)
        with self.assertRaisesRegex(trireme.Error, "'a/b'; allowed: a name without '/'"):
            db.table("a/b")
        raw = db.table("raw", key=bytes, value=bytes)
        for key, value in [(b"k", 5), (b"k", "text"), (b"k", [1, 2]), ([1, 2], b"v"), ("k", b"v")]:
            with self.assertRaisesRegex(TypeError, "allowed: bytes"):
                db.transact(lambda tx: tx.put(raw, key, value))
        db.transact(lambda tx: tx.put(raw, bytearray(b"k"), memoryview(b"v")))
        self.assertEqual(db.transact(lambda tx: tx.range(raw)), [(b"k", b"v")])
        db.close()
        with self.assertRaisesRegex(trireme.Error, "closed"):
            db.tables()

    def test_a_transaction_ends_with_its_function(self):
        db = trireme.Database()
        table = db.table("t")
        kept = []
        db.transact(kept.append)
        with self.assertRaisesRegex(trireme.Error, "has ended"):
            kept[0].get(table, 1)

    def test_the_longest_keys_are_as_is_said(self):
        db = trireme.Database()
        texts, raw = db.table("texts", key=str), db.table("raw", key=bytes)
        for table, key in [(texts, "x" * 1022), (raw, b"x" * 1022), (raw, bytes(511))]:
            db.transact(lambda tx: tx.put(table, key, 1))
            with self.assertRaisesRegex(trireme.Error, "up to 1024 are allowed"):
                db.transact(lambda tx: tx.put(table, key + key[:1], 1))

    def test_a_transaction_is_of_one_thread(self):
        db = trireme.Database()
        table = db.table("t")
        raised, handed = [], []

        def elsewhere():
            try:
                handed.pop().get(table, 1)
            except Exception as error:
                raised.append(error)

        def lends(tx):
            handed.append(tx)
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            return tx.get(table, 1, "none")

        self.assertEqual(db.transact(lends), "none")
        self.assertIsInstance(raised[0], trireme.Error)
        self.assertIn("another thread", str(raised[0]))

    def test_it_is_not_closed_while_somebody_uses_it(self):
        db = trireme.Database()
        table = db.table("t")

        def closes(tx):
            with self.assertRaisesRegex(trireme.Error, "in use, and stays open"):
                db.close()
            tx.put(table, 1, "written")

        db.transact(closes)
        self.assertEqual(db.transact(lambda tx: tx.get(table, 1)), "written")
        db.close()
        db.close()
        with self.assertRaisesRegex(trireme.Error, "closed"):
            db.transact(closes)

    def test_it_is_of_the_process_that_opened_it(self):
        code = """
import os, sys, trireme
db = trireme.Database(sys.argv[1], durability="sync")
table = db.table("t")

def refused(call):
    try:
        call()
    except trireme.Error as error:
        return "forked" in str(error)

def forks(tx):
    tx.put(table, 1, "before")
    if child := os.fork():
        return os.waitpid(child, 0)[1]
    os._exit(0 if refused(lambda: tx.put(table, 1, "in the child")) else 1)

def returns(tx):
    return os.fork()

if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
else:
    ok = refused(lambda: db.transact(lambda tx: tx.put(table, 2, 2))) and refused(db.close)
    del db
    os._exit(0 if ok else 1)
assert db.transact(forks) == 0
home = os.getpid()
try:
    child = db.transact(returns)
except trireme.Error:
    del db
    os._exit(0 if os.getpid() != home else 1)
assert os.waitpid(child, 0)[1] == 0
assert db.transact(lambda tx: tx.range(table)) == [(1, "before")]
db.close()
"""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", code, folder + "/db"], check=True, timeout=120)

    def test_threads_lose_no_increment(self):
        for protocol in ["silo", "no-wait", "dl-detect", "mvcc"]:
            db = trireme.Database(protocol=protocol)
            table = db.table("counters", hashed=100)
            db.transact(lambda tx: tx.insert(table, 1, 0))

            def increment(tx):
                tx.put(table, 1, tx.get(table, 1) + 1)

            def work():
                for _ in range(250):
                    db.transact(increment)

            threads = [threading.Thread(target=work) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join(60) for thread in threads]
            self.assertFalse(any(thread.is_alive() for thread in threads), protocol)
            self.assertEqual(db.transact(lambda tx: tx.get(table, 1)), 1000, protocol)


if __name__ == "__main__":
    unittest.main()
