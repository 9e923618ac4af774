import json

import pytest

from casper.cli.app import main
from casper.experiments import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_is_listed(kind, capsys):
    assert main(["list", f"{kind}s"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in KINDS[kind])


def test_names_with_a_part_of_the_users_own_are_listed(capsys):
    assert main(["list", "streams", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"hub:OWNER/NAME", "folder:PATH", "npz:FILE"} < listed.keys()
    assert list(listed["folder:PATH"]["hyper_parameters"]) == ["channels", "padding", "flip"]
    assert main(["list", "backbones", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["timm:NAME"]["hyper_parameters"].keys() == {"pretrained"}


def test_brackets_are_shown_as_they_are(capsys):
    assert main(["list", "backbones"]) == 0
    assert "casper-il[timm]" in "".join(capsys.readouterr().out.split())


def test_json_is_for_programs(capsys):
    assert main(["list", "regularizers", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["casper"]["hyper_parameters"]["weight"] == {"required": True}
    assert listed["casper"]["hyper_parameters"]["sampling"] == {"required": False, "default": "balanced"}
    assert listed["casper"]["description"]


def test_an_unknown_kind_is_one_line(capsys):
    assert main(["list", "metods"]) == 2
    assert "did you mean 'methods'?" in capsys.readouterr().err
