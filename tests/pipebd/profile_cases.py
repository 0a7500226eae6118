"""Profiles for the tests, as the plain JSON of the file."""

import json
from pathlib import Path

from hypothesis import strategies as st

from hpc.pipebd.profile_file import parse_profile

FOLDER = Path(__file__).parent / "profiles"
SHIPPED = {"a6000": "0-2@0-2 3-5@3", "rtx2080ti": "0@0-1 1-2@2 3-5@3"}


def shipped(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def profile_of(data):
    return parse_profile(data, "test")


def plain(n_blocks=3, n_ranks=3, batch=12):
    """A profile whose times are proportional to the share: block b takes b + 1 ms a sample."""
    shares = [str(share) for share in range(1, batch + 1)]

    def scaled(factor):
        return {share: factor * int(share) for share in shares}

    blocks = [
        {
            "name": f"b{b}",
            "teacher_s": scaled(0.00025 * (b + 1)),
            "student_s": scaled(0.00075 * (b + 1)),
            "memory_bytes": scaled(1000 * (b + 1)),
            "gradient_bytes": 40,
            "output_bytes": 4 * batch,
        }
        for b in range(n_blocks)
    ]
    blocks[0]["load_s"] = 0.006
    return {
        "batch": batch,
        "ranks": [{"speed": 1.0, "memory_bytes": None} for _ in range(n_ranks)],
        "blocks": blocks,
        "allreduce_s": {str(d): [0.0005] * n_blocks for d in range(2, n_ranks + 1)},
        "relay_s": [0, *[0.003] * (n_blocks - 1)],
    }


@st.composite
def profiles(draw, max_blocks=5, max_ranks=5, infeasible=True, alike=False):
    """Draw a profile: few distinct numbers, so that ties are common.

    infeasible : nulls and memory limits too. alike : ranks of the same speed, no smaller
    share slower than a larger one, every group size measured.
    """
    n_blocks, n_ranks = draw(st.integers(1, max_blocks)), draw(st.integers(1, max_ranks))
    batch = draw(st.integers(n_ranks if alike else 1, 9))
    number = st.integers(0, 20)

    def share_map(nulls):
        keys = draw(st.sets(st.integers(1, batch), min_size=1)) | {batch}
        values = draw(st.lists(number, min_size=len(keys), max_size=len(keys)))
        if alike:
            values.sort()
        pairs = dict(zip(map(str, sorted(keys)), values, strict=True))
        if nulls and draw(st.integers(0, 3)) == 0:
            pairs[draw(st.sampled_from(sorted(pairs)))] = None
        return pairs

    def block(b):
        fields = {n: share_map(infeasible) for n in ("teacher_s", "student_s", "memory_bytes")}
        return {"name": f"b{b}", **fields, "gradient_bytes": 8, "output_bytes": 8}

    speeds = st.just(1.0) if alike else st.sampled_from([0.5, 1.0, 1.0, 3.0])
    memories = st.none() | st.integers(5, 60) if infeasible else st.none()
    blocks = [block(b) for b in range(n_blocks)]
    blocks[0]["load_s"] = draw(number)
    sizes = draw(st.sets(st.integers(2, max(2, n_ranks)), min_size=1))
    column = st.lists(number, min_size=n_blocks, max_size=n_blocks)
    return {
        "batch": batch,
        "ranks": [{"speed": draw(speeds), "memory_bytes": draw(memories)} for _ in range(n_ranks)],
        "blocks": blocks,
        "allreduce_s": {str(size): draw(column) for size in sorted(sizes)},
        "relay_s": [0, *draw(st.lists(number, min_size=n_blocks - 1, max_size=n_blocks - 1))],
    }
