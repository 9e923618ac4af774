import pytest
from pydantic import ValidationError

from casper.config import ConfigError, Options, flattened, resolve_config
from casper.config.options import differing, layout_hash


def test_layout_nests_hyper_parameters_by_owner():
    layout = resolve_config({"backbone.width": 8}).as_dict()
    assert layout["backbone"] == {"name": "convnet", "width": 8}
    assert layout["casper"]["num_samples"] is None
    assert layout["regularizer"] == ["casper"]
    assert "er-ace" not in layout  # it has no hyper-parameters


def test_hash_depends_on_values_and_not_on_their_origin():
    default = resolve_config({})
    spelled_out = resolve_config({"seed": 0, "lr": 0.1})
    assert default.hash == spelled_out.hash
    assert default.origin["lr"] != spelled_out.origin["lr"]
    assert resolve_config({"seed": 1}).hash != default.hash
    assert resolve_config({"casper.weight": 0.5}).hash != default.hash


def test_name_tells_stream_method_regularizer_and_seed():
    config = resolve_config({"seed": 3, "regularizer": ["forward-only", "casper"]})
    assert config.name == f"split-digits-er-ace-forward-only+casper-3-{config.hash}"
    assert resolve_config({"regularizer": ["none"]}).name.startswith("split-digits-er-ace-none-0-")


def test_name_is_safe_as_a_directory(tmp_path, monkeypatch):
    (tmp_path / "own_regularizers.py").write_text(
        "from casper import ForwardOnly\nclass Mine(ForwardOnly):\n    name = 'mine'\n"
    )
    monkeypatch.chdir(tmp_path)
    name = resolve_config({"regularizer": ["own_regularizers:Mine"]}).name
    assert name.startswith("split-digits-er-ace-own_regularizers_Mine-0-")


def test_options_cannot_be_changed():
    with pytest.raises(ValidationError):
        Options().seed = 3


def test_every_option_is_described_in_two_short_lines_at_most():
    for name, field in Options.model_fields.items():
        assert 10 < len(field.description) <= 130, name
        assert field.description.endswith("."), name


def test_layout_becomes_dotted_keys_without_the_origins():
    layout = {"lr": 0.1, "backbone": {"name": "mlp", "hidden": 3}, "casper": {"weight": 1}, "origin": {"lr": "user"}}
    assert flattened(layout) == {"lr": 0.1, "backbone": "mlp", "backbone.hidden": 3, "casper.weight": 1}


def test_an_empty_mapping_is_no_value_of_an_option():
    assert flattened({"lr": {}, "casper": {}}) == {"lr": {}}


def test_keys_that_are_no_text_are_refused():
    with pytest.raises(ConfigError, match="keys of a configuration must be text, but got 3"):
        flattened({3: 1})


def test_what_is_not_set_leaves_the_name_of_a_run_as_it_is():
    layout = resolve_config({}).as_dict()
    later = {**layout, "novelty": None, "casper": {**layout["casper"], "novelty": None}}
    assert layout_hash(later) == layout_hash(layout) == resolve_config({}).hash
    assert differing(layout, later) == differing(later, layout) == []
    assert layout_hash({**layout, "novelty": 0}) != layout_hash(layout)
    assert differing(layout, {**layout, "novelty": 0}) == ["novelty (not set there, 0 here)"]


@pytest.mark.parametrize(
    "layout",
    [{"casper": {"weight": 0.1}, "casper.weight": 0.2}, {"casper.weight": 0.2, "casper": {"weight": 0.1}}],
)
def test_a_setting_written_in_two_ways_is_refused(layout):
    with pytest.raises(ConfigError, match=r"'casper\.weight' must be given once, but is given twice"):
        flattened(layout)
