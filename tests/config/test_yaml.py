import time

import pytest
import yaml

from casper.config import ConfigError, read_layout, resolve_config, to_yaml
from casper.config.yaml import parse_yaml, read_preset


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


@pytest.fixture
def own(tmp_path):
    """Writes a preset and reads it."""

    def read(text):
        (tmp_path / "own.yaml").write_text(text)
        return read_preset(tmp_path / "own.yaml")

    return read


def test_a_preset_has_dotted_keys_and_is_named_by_its_file(own):
    values, origin = own("lr: 1e-3\ncasper: {weight: 0.5}\nbackbone: {name: convnet, width: 4}\norigin: {lr: user}\n")
    assert values == {"lr": 1e-3, "casper.weight": 0.5, "backbone": "convnet", "backbone.width": 4}
    assert origin == "preset own.yaml"


@pytest.mark.parametrize(
    ("text", "complaint"), [("a: [", "must be plain YAML"), ("- 1", "must contain a mapping"), ("1: 2", "be text")]
)
def test_a_file_that_is_no_preset_is_refused(own, text, complaint):
    with pytest.raises(ConfigError, match=complaint):
        own(text)


def test_a_preset_is_weaker_than_flags_and_file_and_stronger_than_what_is_packaged(own):
    preset = own("lr: 0.3\nepochs: 7\nbatch_size: 16\nseed: 5\n")
    config = resolve_config({"epochs": 2}, {"epochs": 3, "batch_size": 8}, preset)
    options = config.options
    assert (options.epochs, options.batch_size, options.lr, options.seed) == (2, 8, 0.3, 5)
    origins = [config.origin[key] for key in ("epochs", "batch_size", "lr", "seed")]
    assert origins == ["user", "file", "preset own.yaml", "preset own.yaml"]
    paper = resolve_config({"stream": "split-cifar100"}, None, own("epochs: 7"))
    assert (paper.options.epochs, paper.origin["epochs"]) == (7, "preset own.yaml")
    assert paper.options.batch_size == resolve_config({"stream": "split-cifar100"}).options.batch_size


def test_a_preset_chooses_stream_and_protocol_where_nobody_else_does(own):
    preset = own("stream: split-cifar100\nprotocol: desk\n")
    desk = resolve_config({"stream": "split-cifar100", "protocol": "desk"})
    paper = resolve_config({"stream": "split-cifar100", "protocol": "paper"})
    assert desk != paper
    assert resolve_config({}, None, preset) == desk
    assert resolve_config({}, {"protocol": "paper"}, preset) == paper
    assert resolve_config({"protocol": "paper"}, {"protocol": "desk"}, preset) == paper
    assert resolve_config({}, None, own("protocol: desk")) == resolve_config({"protocol": "desk"})
    assert preset[0]["protocol"] == "desk"  # what was read is not changed


def test_what_a_preset_says_is_the_users_own_and_taken_as_it_is(own):
    config = resolve_config({"epochs": 9}, None, own("epochs: 10\nmilestones: [4, 8]\n"))
    assert config.options.milestones == [4, 8]
    assert config.origin["milestones"] == "preset own.yaml"


def test_a_preset_may_speak_of_parts_that_are_not_in_the_run(own):
    preset = own("casper: {weight: 0.5}\nx-der: {alpha: 0.25}\n")
    config = resolve_config({"regularizer": "none"}, None, preset)
    assert config == resolve_config({"regularizer": "none"})
    assert resolve_config({"method": "x-der"}, None, preset).hyper["x-der"]["alpha"] == 0.25


def test_the_width_of_a_presets_backbone_is_not_handed_to_another(own):
    config = resolve_config({"backbone": "mlp"}, None, own("backbone: {name: convnet, width: 4}"))
    assert config == resolve_config({"backbone": "mlp"})


def test_an_unknown_key_of_a_preset_is_refused(own):
    with pytest.raises(ConfigError, match=r"unknown key 'casper\.weigth'; did you mean 'casper\.weight'"):
        resolve_config({}, None, own("casper: {weigth: 1}"))
    with pytest.raises(ConfigError, match="unknown protocol 'dsk'"):
        resolve_config({}, None, own("protocol: dsk"))


def test_many_keys_are_checked_in_linear_time():
    text = "\n".join(f"key{number}: 1" for number in range(30_000))

    def seconds(parse):
        start = time.process_time()
        parse(text)
        return time.process_time() - start

    assert seconds(parse_yaml) < 3 * seconds(yaml.safe_load)
