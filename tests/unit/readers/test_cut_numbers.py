"""A number at the end of a line that is cut off is not taken for the whole number."""

from __future__ import annotations

import pytest

from tests.unit.readers.test_opened_and_grown import looked_at

FORMS = {
    "words": "step {i} | reward {r:.4f} | lr {l:.3e} | entropy {e:.3f}\n",
    "names": "iter={i} reward={r:.4f} lr={l:.3e} entropy={e:.3f}\n",
    "words of its own": "GRPO round {i}/90 -> reward={r:.4f}, lr={l:.3e}, entropy={e:.3f}\n",
    "lines below": "Step {i}/90:\n  reward: {r:.4f}\n  lr: {l:.3e}\n  entropy: {e:.3f}\n",
    "pairs below": "Iteration {i} | elapsed 0:{i:02}:11\n  reward   {r:.4f}\n  lr   {l:.3e}\n  entropy   {e:.3f}\n",
    "the rate last": "step {i}: reward={r:.4f}, entropy={e:.3f}, lr={l:.3e}\n",
}


def log(form: str) -> bytes:
    return "".join(FORMS[form].format(i=i, r=i / 97, l=i * 1.173e-7, e=2 - i / 31) for i in range(1, 13)).encode()


@pytest.mark.parametrize("form", FORMS)
def test_no_other_number_is_shown_wherever_the_log_ends(form: str) -> None:
    data = log(form)
    whole, _ = looked_at([data])
    assert len(whole) == 12
    last = data.rindex(b"12")
    lr = data.index(b"lr", last)
    within = range(lr, data.index(b"e-", lr) + 2)
    for end in within if form == "the rate last" else range(last + 3, len(data)):
        shown, _ = looked_at([data[:end]])
        numbers = shown.get(12, {})
        if form == "the rate last" and data[end - 1 : end] != b"e":
            continue  # it may be the whole line
        assert {name: x for name, x in numbers.items() if whole[12].get(name) != x and name != "entropy"} == {}, end


@pytest.mark.parametrize("form", FORMS)
def test_a_last_line_that_lacks_but_its_end_is_whole(form: str) -> None:
    data = log(form)
    assert looked_at([data[:-1]])[0] == looked_at([data])[0]


@pytest.mark.parametrize("form", FORMS)
def test_a_log_that_comes_in_pieces_is_read_as_a_whole(form: str) -> None:
    data = log(form)
    whole = looked_at([data])[0]
    for size in (9, 23):
        assert looked_at([data[at : at + size] for at in range(0, len(data), size)])[0] == whole, size


@pytest.mark.parametrize("form", FORMS)
def test_what_was_cut_is_read_once_the_rest_came(form: str) -> None:
    data = log(form)
    whole = looked_at([data])[0]
    assert [at for at in range(len(data) - 60, len(data)) if looked_at([data[:at], data[at:]])[0] != whole] == []
