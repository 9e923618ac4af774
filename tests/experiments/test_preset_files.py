import pytest

from casper.experiments import ConfigError, resolve_config
from casper.experiments.preset_files import read_preset


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
    ("text", "complaint"), [("a: [", "should be plain YAML"), ("- 1", "should hold a mapping"), ("1: 2", "be text")]
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
