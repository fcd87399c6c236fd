"""Which test a worker gets next."""

import random

from testmatrix.shards.dispatch import Waiting, Worker

IDLE = Worker(0.0)


def drained(waiting, files, file=""):
    """All tests, as one worker takes them that stays in the file of its last one."""
    taken = []
    while (position := waiting.take(Worker(0.0, file), [])) is not None:
        taken.append(position)
        file = files[position]
    return taken


def test_long_tests_come_first_and_short_ones_in_their_order():
    seconds = [0.001, 8.0, 0.002, 40.0, 0.0, 20.0]
    files = ["a"] * 6
    assert drained(Waiting(files, seconds, 1), files) == [3, 5, 1, 0, 2, 4]


def test_among_tests_alike_the_worker_stays_in_its_file():
    files = ["a", "b", "a", "b", "c"]
    assert drained(Waiting(files, [1.0] * 5, 2), files) == [0, 2, 1, 3, 4]
    assert drained(Waiting(files, [1.0] * 5, 2), files, "b") == [1, 3, 0, 2, 4]


def test_a_much_longer_test_is_worth_another_file():
    files = ["a", "a", "b"]
    assert drained(Waiting(files, [4.0, 1.0, 4.0], 1), files) == [0, 2, 1]


def test_another_file_is_one_in_which_nobody_is():
    waiting = Waiting(["a", "a", "b"], [1.0, 1.0, 1.0], 2)
    others = [Worker(5.0, "a")]
    assert waiting.take(Worker(0.0), others) == 2
    assert waiting.take(Worker(0.0, "b"), others) == 0, "all files have a worker: help one"


def test_without_durations_the_order_is_that_of_files():
    files = ["a", "b", "a"]
    assert drained(Waiting(files, [0.0, 0.0, 0.0], 2), files) == [0, 2, 1]


def test_what_waits_behind_a_long_test_is_what_the_others_leave():
    """The other worker takes 20 and 10 in the time: of equal lengths, 30 s are left for the one that is busy with 30."""
    waiting = Waiting(["f"] * 5, [20.0, 10.0, 5.0, 2.5, 1.25], 2)
    assert waiting.take(Worker(30.0), [Worker(0.0)]) == 2
    assert len(waiting) == 4


def test_nothing_waits_behind_a_test_that_lasts_until_all_is_done():
    waiting = Waiting(["f", "f"], [50.0, 50.0], 2)
    assert waiting.take(Worker(100.0), [Worker(0.0)]) is None
    assert drained(waiting, ["f", "f"]) == [0, 1]


def test_but_a_test_of_no_length_does():
    """Cheap, and the worker is still there if the others are slower than expected."""
    waiting = Waiting(["f", "f"], [50.0, 0.1], 2)
    assert waiting.take(Worker(100.0), [Worker(0.0)]) == 1
    assert waiting.take(Worker(100.0), [Worker(0.0)]) is None


def test_the_only_worker_is_given_everything():
    waiting = Waiting(["f"] * 3, [50.0, 7.0, 1.0], 2)
    assert [waiting.take(Worker(1000.0), []) for _ in range(4)] == [0, 1, 2, None]


def test_unknown_tests_come_early_but_behind_what_decides_when_the_run_ends():
    seconds = [1.0, 60.0, 1.0, 10.0]  # an even share of two workers is 36 s
    files = ["f"] * 4
    assert drained(Waiting(files, seconds, 2, unknown={2}), files) == [1, 2, 3, 0]


def test_a_test_may_wait_again():
    waiting = Waiting(["a", "b"], [2.0, 1.0], 1)
    assert (waiting.take(IDLE, []), waiting.take(IDLE, []), len(waiting)) == (0, 1, 0)
    waiting.add(1)
    waiting.add(0)
    assert len(waiting) == 2
    assert drained(waiting, ["a", "b"]) == [0, 1]


def test_each_test_is_taken_once_whatever_workers_are_busy_with():
    source = random.Random(4)
    for _ in range(50):
        count = source.randrange(0, 60)
        seconds = [source.choice([0.0, source.lognormvariate(0, 2)]) for _ in range(count)]
        waiting = Waiting([source.choice("abc") for _ in range(count)], seconds, 3, {n for n in range(count) if n % 7 == 0})
        taken = []
        while waiting:
            others = [Worker(source.uniform(0, 5), source.choice("abc")) for _ in range(source.randrange(3))]
            position = waiting.take(Worker(source.uniform(0, 5), source.choice("abc")), others)
            if position is not None:
                taken.append(position)
        assert sorted(taken) == list(range(count))
