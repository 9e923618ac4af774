import pytest

from casper.experiments import ConfigError, read_layout, to_yaml
from casper.experiments.yaml_files import parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 1e-3), ("1E5", 1e5), ("-2.5e+3", -2500.0), ("3", 3), ("0.1", 0.1), ("true", True), ("null", None)],
)
def test_numbers_are_numbers(text, value):
    assert parse_yaml(text) == value
    assert type(parse_yaml(text)) is type(value)


@pytest.mark.parametrize("text", ["er-ace", "e3", "1e", "12ab"])
def test_text_stays_text(text):
    assert parse_yaml(text) == text


def test_round_trip(tmp_path):
    layout = {"b": [1, 2], "a": {"x": None, "y": "text: with colon"}}
    (tmp_path / "file.yaml").write_text(to_yaml(layout))
    assert read_layout(tmp_path / "file.yaml") == layout
    assert list(read_layout(tmp_path / "file.yaml")) == ["b", "a"]


@pytest.mark.parametrize(
    "content",
    [
        "a: [1,",
        "!!python/object/apply:os.system ['echo sprung']",
        "a: !!python/name:os.system",
        "- a list",
        "just text",
        "",
        "\x00",
        "a: &a [1]\nb: *a",
        "a: !!timestamp x",
        "a: " + "[" * 5000,
    ],
)
def test_what_is_not_a_plain_mapping_is_one_line(content, tmp_path, capfd):
    path = tmp_path / "file.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_layout(path)
    assert "\n" not in str(caught.value)
    assert "sprung" not in capfd.readouterr().out


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(ConfigError, match="plain YAML"):
        read_layout(tmp_path / "bytes.yaml")
    with pytest.raises(ConfigError, match="No such file"):
        read_layout(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="Is a directory"):
        read_layout(tmp_path)


def test_a_key_that_is_given_twice_is_refused(tmp_path):
    (tmp_path / "a.yaml").write_text("seed: 1\nlr: 0.1\nseed: 2\n")
    with pytest.raises(ConfigError, match="the key 'seed' is given twice"):
        read_layout(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text("casper: {weight: 1, weight: 1}\n")
    with pytest.raises(ConfigError, match="the key 'weight' is given twice"):
        read_layout(tmp_path / "a.yaml")


def test_a_name_that_no_file_can_have_is_not_shown_whole(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: File name too long") as complaint:
        read_layout(tmp_path / ("x" * 5000))
    assert len(str(complaint.value)) < 300
    with pytest.raises(ConfigError, match=f"{tmp_path}/{'y' * 200} cannot be read: No such file"):
        read_layout(tmp_path / ("y" * 200))
