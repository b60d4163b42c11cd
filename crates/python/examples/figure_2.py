"""Figure 2 of *trireme* (Appuswamy et al., PVLDB 11(2), 2017), drawn again on its 72 simulated cores: transactions that only read, under one architecture or another.

    python crates/python/examples/figure_2.py                              # all four panels, in figure-2.png and one by one: an hour
    python crates/python/examples/figure_2.py picture.png --only a,b       # two of them
    python crates/python/examples/figure_2.py picture.png --quick          # panels a and d of fewer points, shorter: seconds

It needs matplotlib: pip install 'trireme[figures]', or without a package index: pip install matplotlib.
"""

import argparse
from pathlib import Path

import trireme

# What all four have: experiments/trireme/fig-2a.toml to fig-2d.toml say the same.
BASE = {"records": 2_000_000, "hot-records": 16, "hot": 2, "writes": "none", "latch": "test-and-set", "back-off": "off", "prefetch": False, "precedence-after": "never"}
THREADS = {"workers": {"of": [1, 2, 4, 9, 18, 36, 54, 72], "to": "cores"}}

# How much is simulated of each point; and with --quick, of how many rows and at which points.
TIMES = {"warmup": "2ms", "duration": "2ms", "repeat": 3}
QUICK = {"records": 20_000, "warmup": "20us", "duration": "60us", "repeat": 1}
QUICK_AXES = {"workers": [1, 18], "remote": [0, 10]}
QUICK_WORKERS = 4

PANELS = {
    "a": {
        "title": "DL_DETECT",
        "systems": ["shared-everything dl-detect", "delegation dl-detect", "dora dl-detect"],
        "base": BASE,
        "over": THREADS,
    },
    "b": {
        "title": "NO_WAIT",
        "systems": ["shared-everything no-wait", "delegation no-wait", "dora no-wait"],
        "base": BASE,
        "over": THREADS,
    },
    "c": {
        "title": "Each under its best architecture",
        "systems": ["shared-everything silo", "shared-everything no-wait", "shared-everything 2v-no-wait", "delegation dl-detect", "partitioned-serial"],
        "base": BASE,
        "over": THREADS,
    },
    "d": {
        "title": "No hot records",
        "systems": ["shared-everything no-wait", "partitioned-serial", "delegation no-wait", "dora no-wait"],
        "base": {name: value for name, value in BASE.items() if name != "latch"} | {"hot-records": 0, "hot": 0},
        "over": {"remote": {"from": 0, "to": 10, "step": 1}},
    },
}


def experiment(panel, quick=False):
    """A panel's experiment, as ``trireme.sweep`` takes it."""
    of = PANELS[panel]
    base, over = of["base"] | TIMES, of["over"]
    if quick:
        base = base | QUICK
        over = {name: QUICK_AXES[name] for name in over}
        if "workers" not in over:
            base = base | {"workers": QUICK_WORKERS}
    return {"title": f"Figure 2{panel}: {of['title']}", "workload": "micro", "base": base, "axes": {"system": of["systems"], **over}}


def lines(panel, frame):
    """Throughput per second by what the panel's axis is, a column a system, in the order of the panel."""
    (over,) = PANELS[panel]["over"]
    table = frame.pivot(index=over, columns="system", values="throughput_per_s")[PANELS[panel]["systems"]]
    table.attrs["threads"] = int(frame["workers"].max())
    return table


def draw(axes, panel, table):
    """One panel, from what ``lines`` answers."""
    (table / 1e6).plot(ax=axes, marker="o", title=f"Simulated: figure 2{panel} of trireme\n{PANELS[panel]['title']}")
    what = "threads" if table.index.name == "workers" else f"remote operations a transaction, with {table.attrs['threads']} threads"
    axes.set(xlabel=what, ylabel="million transactions per second", ylim=(0, None))
    axes.legend(fontsize="small", title=None)


def save(file, tables):
    """The panels of ``tables`` as one picture, two beside each other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(2, len(tables))
    rows = -(-len(tables) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(7 * columns, 4.5 * rows), squeeze=False)
    places = list(grid.flat)
    for axes, (panel, table) in zip(places, tables.items()):
        draw(axes, panel, table)
    for axes in places[len(tables):]:
        axes.set_visible(False)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def panels(text):
    """``a,b`` as a list of panels."""
    named = list(dict.fromkeys(text.split(",")))
    if not set(named) <= set(PANELS):
        raise argparse.ArgumentTypeError(f"{text}: allowed: some of {','.join(PANELS)}, between commas")
    return named


def main(words=None):
    parser = argparse.ArgumentParser(description="Draws figure 2 of the paper trireme again, on simulated cores.")
    parser.add_argument("picture", nargs="?", default="figure-2.png", help="all panels in one; each has a file of its own beside it, picture-a.png [default: figure-2.png]")
    parser.add_argument("--only", type=panels, help="panels, between commas [default: a,b,c,d; with --quick: a,d]")
    parser.add_argument("--quick", action="store_true", help="fewer points, shorter: whether it works, and nothing of the paper")
    told = parser.parse_args(words)

    tables = {}
    picture = Path(told.picture)
    for panel in told.only or (["a", "d"] if told.quick else list(PANELS)):
        frame = trireme.sweep(experiment(panel, told.quick), on="haswell-ex-4x18")
        tables[panel] = lines(panel, frame)
        print(f"Figure 2{panel}, {PANELS[panel]['title']}: transactions per second")
        print(tables[panel].to_string(float_format="{:,.0f}".format), end="\n\n", flush=True)
        # What is there is drawn at once: the next panel takes its time.
        alone = picture.with_stem(f"{picture.stem}-{panel}")
        save(alone, {panel: tables[panel]})
        print(f"{alone} is drawn", flush=True)
    save(picture, tables)
    print(f"{picture} is drawn")


if __name__ == "__main__":
    main()
