from pathlib import Path

import pytest

from casper.config import ConfigError
from casper.experiments import Questions
from casper.experiments.questions import wanted_embeddings, wanted_maps

KEPT = {end: Path(str(end)) for end in (1, 2, 4, 5, 7, 10)}


def test_the_usual_is_the_middle_and_the_end_and_some_of_the_way():
    assert wanted_maps(Questions(), KEPT, 10) == [(5, 10)]
    assert wanted_embeddings(Questions(), KEPT, 10) == [4, 7, 10]
    assert wanted_maps(Questions(), {10: Path("last")}, 10) == []
    assert wanted_embeddings(Questions(), {10: Path("last")}, 10) == [10]


def test_what_is_asked_is_answered_once():
    assert wanted_maps(Questions(maps=[(1, 4), (1, 4), (2, 5)]), KEPT, 10) == [(1, 4), (2, 5)]
    assert wanted_embeddings(Questions(embed=[]), KEPT, 10) == []


def test_what_cannot_be_answered_is_named():
    with pytest.raises(ConfigError, match=r"--maps should name task ends whose state was kept, of 1, 2, .*; found 3"):
        wanted_maps(Questions(maps=[(3, 4)]), KEPT, 10)
    with pytest.raises(ConfigError, match="from an earlier task end to a later one; found 5:5"):
        wanted_maps(Questions(maps=[(5, 5)]), KEPT, 10)
    with pytest.raises(ConfigError, match="--embed should name task ends whose state was kept"):
        wanted_embeddings(Questions(embed=[6]), KEPT, 10)
