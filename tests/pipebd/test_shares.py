from hypothesis import given
from hypothesis import strategies as st

from hpc.pipebd.shares import batch_shares, largest_share, relay

sizes = st.integers(1, 12)


@given(st.integers(0, 300), sizes)
def test_no_sample_is_dropped_and_shares_differ_by_one_at_most(batch, size):
    shares = batch_shares(batch, size)
    assert [s for start, stop in shares for s in range(start, stop)] == list(range(batch))
    lengths = [stop - start for start, stop in shares]
    assert max(lengths) - min(lengths) <= 1
    assert max(lengths) == lengths[0] == largest_share(batch, size)


def test_a_batch_of_256_over_three_ranks_stays_256():
    assert batch_shares(256, 3) == [(0, 86), (86, 171), (171, 256)]


@given(st.integers(1, 60), sizes, sizes)
def test_every_sample_is_relayed_once_from_its_holder_to_its_next_holder(batch, senders, receivers):
    holder = {s: r for r, part in enumerate(batch_shares(batch, senders)) for s in range(*part)}
    wanted = {s: r for r, part in enumerate(batch_shares(batch, receivers)) for s in range(*part)}
    carried = [
        (sample, message.sender, message.receiver)
        for message in relay(batch, senders, receivers)
        for sample in range(*message.interval)
    ]
    assert sorted(carried) == [(s, holder[s], wanted[s]) for s in range(batch)]


@given(st.integers(1, 60), sizes, sizes)
def test_one_message_a_pair_and_none_is_empty(batch, senders, receivers):
    messages = relay(batch, senders, receivers)
    pairs = [(m.sender, m.receiver) for m in messages]
    assert pairs == sorted(set(pairs))
    assert all(start < stop for _, _, (start, stop) in messages)


def test_two_to_three():
    assert relay(12, 2, 3) == [(0, 0, (0, 4)), (0, 1, (4, 6)), (1, 1, (6, 8)), (1, 2, (8, 12))]
