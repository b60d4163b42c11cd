"""Figure 2a of *trireme* (Appuswamy et al., PVLDB 11(2), 2017), drawn again: DL_DETECT, read-only, under three architectures.

    python crates/python/examples/figure_2.py figure-2a.png        # simulates 72 cores: minutes
    python crates/python/examples/figure_2.py quick.png --quick    # fewer points, shorter: seconds

It needs matplotlib: pip install 'trireme[figures]', or without a package index: pip install matplotlib.
"""

import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import trireme

quick = "--quick" in sys.argv[2:]
picture = sys.argv[1] if len(sys.argv) > 1 else "figure-2a.png"
SYSTEMS = ["shared-everything dl-detect", "delegation dl-detect", "dora dl-detect"]

experiment = {
    "title": "DL_DETECT, read-only",
    "workload": "micro",
    "base": {
        "records": 100_000 if quick else 2_000_000,
        "hot-records": 16,
        "hot": 2,
        "writes": "none",
        "latch": "test-and-set",
        "back-off": "off",
        "prefetch": False,
        "precedence-after": "never",
        "warmup": "50us" if quick else "2ms",
        "duration": "100us" if quick else "2ms",
        "repeat": 1 if quick else 3,
    },
    "axes": {"system": SYSTEMS, "workers": [1, 4, 18] if quick else [1, 2, 4, 9, 18, 36, 54, 72]},
}

with tempfile.TemporaryDirectory() as results:
    frame = trireme.sweep(experiment, on="haswell-ex-4x18", out=results + "/figure-2a")

lines = frame.pivot(index="workers", columns="system", values="throughput_per_s")[SYSTEMS]
print(lines.to_string(float_format="{:,.0f}".format))
axes = (lines / 1e6).plot(marker="o", figsize=(7, 4.5), title="Simulated: figure 2a of trireme")
axes.set(xlabel="threads", ylabel="million transactions per second", ylim=(0, None))
plt.tight_layout()
plt.savefig(picture, dpi=120)
print(f"{picture} is drawn")
