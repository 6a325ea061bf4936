"""The bands are the quartiles of the published tables, whose fusion scores our IRF gives, too."""

from __future__ import annotations

import numpy as np
import pytest

from vendor_verifier.metrics import RANKED
from vendor_verifier.metrics.bands import BANDS, PUBLISHED_ROWS
from vendor_verifier.scoring.irf import irf

# The tables on the product's page: vendor, IRF, success rate, F1, TPS, schema accuracy, TTFT in ms, tokens.
TABLES = {
    "claude-haiku-4.5": """\
anthropic 0.8635 1 1 99.36 0.9346 3897 2571
foxcode 0.8357 1 0.7513 94.21 0.9891 4161 1945
packyapi 0.8040 1 0.7590 103.7 0.8989 4500 2504
yunwu 0.7583 1 0.7356 22.3 0.9041 4969 1412""",
    "claude-opus-4.5": """\
anthropic 0.9217 1 1 50.29 0.9714 4696 2585
packyapi 0.8741 1 0.7959 53.28 0.9082 5062 2510
yunwu 0.8095 0.9967 0.8384 18.71 0.9024 6105 1435""",
    "claude-sonnet-4.5": """\
foxcode 0.8774 1 0.8454 51.94 0.8000 4985 1861
anthropic 0.8357 1 1 33.95 0.8121 5175 2398
yunwu 0.8278 1 0.8304 18.94 0.8593 5649 1399
packyapi 0.7206 1 0.8293 48.36 0.7692 5676 2458""",
    "deepseek-v3.2": """\
deepseek 0.8234 0.9870 1 62.77 0.9854 1268 1859
google-vertex 0.7885 0.9995 0.6216 101.9 0.8480 777.3 1968
siliconflow-or 0.7706 0.9980 0.7282 151.5 0.8808 2465 2927
atlascloud 0.7567 1 0.7257 81.03 0.8438 1211 2368
siliconflow 0.7345 0.9815 0.7988 15.15 0.8633 5724 1719""",
    "gemini-2.5-flash": """\
google-vertex 0.9524 1 1 249.3 0.6875 1651 1731
gemini 0.9048 0.9933 0.8810 216.1 0.6897 2626 1658""",
    "glm-4.7": """\
bigmodel 0.9107 0.9725 1 123.4 0.8409 2243 1789
z.ai 0.8512 0.9980 0.8575 246 0.8291 4986 2303
atlascloud 0.8452 0.9975 0.8624 103.8 0.8327 1914 2311""",
    "kimi-k2": """\
siliconflow 0.9158 1 0.8427 58.23 1 1313 1581
siliconflow-or 0.8690 0.9975 0.8355 92.81 0.9985 1115 1816
moonshot 0.8205 0.9905 1 46.39 1 2662 1857""",
    "minimax-m2": """\
google-vertex 0.9217 0.9990 0.7662 347.6 1 491.7 2556
minimax 0.8512 0.9980 1 147.2 0.8205 1483 2278
atlascloud 0.8324 0.9960 0.7622 152.6 1 745.9 2443""",
}
NAMES = ("success_rate", "f1", "tps", "schema_accuracy", "avg_ttft_ms", "avg_tokens")


def rows_of(model: str) -> dict[str, dict[str, float]]:
    """Vendor → figure → value, and under ``irf`` the published fusion score."""
    found = {}
    for line in TABLES[model].splitlines():
        vendor, fused, *values = line.split()
        figures = zip(NAMES, map(float, values), strict=True)
        found[vendor] = {"irf": float(fused), **dict(figures)}
    return found


@pytest.mark.parametrize("model", TABLES)
def test_the_published_figures_give_the_published_fusion_scores(model: str) -> None:
    """All 27 of them, to the last digit they are told with."""
    rows = rows_of(model)
    ours = irf({vendor: {name: row[name] for name in NAMES} for vendor, row in rows.items()})
    assert {vendor: round(value, 4) for vendor, value in ours.items()} == pytest.approx(
        {vendor: row["irf"] for vendor, row in rows.items()}, abs=1.01e-4
    )


@pytest.mark.parametrize("name", RANKED)
def test_a_band_is_the_middle_half_of_the_published_rows(name: str) -> None:
    """Of all vendors that are not their model's baseline; figures that models decide are held against it."""
    values = []
    for model in TABLES:
        rows = rows_of(model)
        (baseline,) = [vendor for vendor, row in rows.items() if row["f1"] == 1]
        values += [
            row[name] / (rows[baseline][name] if BANDS[name].is_ratio else 1)
            for vendor, row in rows.items()
            if vendor != baseline
        ]
    assert len(values) == PUBLISHED_ROWS
    low, high = np.percentile(values, [25, 75])
    assert (BANDS[name].low, BANDS[name].high) == pytest.approx((low, high), abs=0.005)
