from casper.streams.sources import RawSet, Split


def test_a_split_is_as_long_as_its_labels():
    split = Split(["a", "b", "a"], open=lambda row: None, place=lambda row: f"row {row}")
    assert len(split) == 3
    assert len(Split([], open=lambda row: None, place=str)) == 0


def test_labels_are_their_own_names_unless_there_are_others():
    assert tuple(RawSet({}).names) == ()
