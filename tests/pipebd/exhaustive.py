"""The paper's exhaustive search and issue 3's definition of cost, on the plain JSON of a profile.

The oracle of the tests: shares no code with `hpc.pipebd`.
"""

from itertools import combinations, pairwise
from math import ceil, inf


def compositions(total, parts):
    """Yield every way to write `total` as `parts` positive summands, in order."""
    for cuts in combinations(range(1, total), parts - 1):
        bounds = (0, *cuts, total)
        yield [stop - start for start, stop in pairwise(bounds)]


def all_schedules(n_blocks, n_ranks):
    """Yield every schedule on all of the ranks: a list of (first, stop block, first, stop rank)."""
    for n_groups in range(1, min(n_blocks, n_ranks) + 1):
        for blocks in compositions(n_blocks, n_groups):
            for ranks in compositions(n_ranks, n_groups):
                groups, b, r = [], 0, 0
                for n_b, n_r in zip(blocks, ranks, strict=True):
                    groups.append((b, b + n_b, r, r + n_r))
                    b, r = b + n_b, r + n_r
                yield groups


def spelled(groups):
    return " ".join(f"{i}-{j - 1}@{p}-{q - 1}" for i, j, p, q in groups)


def value(table, at):
    """Read a map of numbers by interpolation; infinite where it cannot be known."""
    points = sorted((int(key), number) for key, number in table.items())
    if at <= points[0][0]:
        return inf if points[0][1] is None else points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if at == x1:
            return inf if y1 is None else y1
        if x0 < at < x1:
            return inf if y0 is None or y1 is None else y0 + (at - x0) / (x1 - x0) * (y1 - y0)
    return inf


def reduce_time(profile, size, block):
    if size == 1:
        return 0
    sizes = [int(key) for key in profile["allreduce_s"]]
    column = {key: times[block] for key, times in profile["allreduce_s"].items()}
    return value(column, min(size, max(sizes)))


def group_time(profile, group, limit=inf):
    """Seconds of a group, infinite where it does not fit."""
    first, stop, first_rank, stop_rank = group
    size = stop_rank - first_rank
    share = ceil(profile["batch"] / size)
    ranks = profile["ranks"][first_rank:stop_rank]
    total = memory = 0
    for b in range(first, stop):
        block = profile["blocks"][b]
        total += value(block["teacher_s"], share) + value(block["student_s"], share)
        total += reduce_time(profile, size, b)
        memory += value(block["memory_bytes"], share)
    limits = [r["memory_bytes"] for r in ranks if r["memory_bytes"] is not None]
    if size > profile["batch"] or memory == inf or memory > min([limit, *limits]):
        return inf
    arrival = profile["relay_s"][first] if first else profile["blocks"][0]["load_s"]
    return total / min(r["speed"] for r in ranks) + arrival / size


def step_time(profile, groups, limit=inf):
    return max(group_time(profile, group, limit) for group in groups)


def best_step(profile, n_ranks, limit=inf):
    """The least step time over all schedules on the first 1..n_ranks ranks; inf if none fits."""
    n_blocks = len(profile["blocks"])
    return min(
        step_time(profile, groups, limit)
        for used in range(1, n_ranks + 1)
        for groups in all_schedules(n_blocks, used)
    )
