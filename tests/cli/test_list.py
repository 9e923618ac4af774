import json

import pytest

from casper.cli.app import main
from casper.config import KINDS


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
    assert "pipinstalltimm" in "".join(capsys.readouterr().out.split())


def test_json_is_for_programs(capsys):
    assert main(["list", "regularizers", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["casper"]["hyper_parameters"]["weight"]["required"]
    sampling = listed["casper"]["hyper_parameters"]["sampling"]
    assert (sampling["required"], sampling["default"]) == (False, "balanced")
    assert sampling["meaning"].startswith('`"balanced"`, as in the paper')
    assert listed["casper"]["description"]


def test_one_of_them_is_explained(capsys):
    assert main(["list", "regularizers", "casper"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "passes them through the network" in words  # not broken where the docstring is
    assert "Args:" not in words
    assert "stream_neighbors - The number of neighbours in its graph;" in words
    assert "weight (preset) The paper's rho" in words
    assert main(["list", "methods", "finetune"]) == 0
    assert main(["list", "regularizers", "caspar"]) == 2
    assert "did you mean 'casper'?" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "stream"])  # some streams' are another's
def test_every_hyper_parameter_is_explained(kind, capsys):
    assert main(["list", f"{kind}s", "--json"]) == 0
    for name, thing in json.loads(capsys.readouterr().out).items():
        assert all(each["meaning"] for each in thing["hyper_parameters"].values()), name


def test_an_unknown_kind_is_one_line(capsys):
    assert main(["list", "metods"]) == 2
    assert "did you mean 'methods'?" in capsys.readouterr().err


OWN = """
from casper import ERACE

class Mine(ERACE):
    \"\"\"Replay with a weight.

    Args:
        alpha: The weight.
    \"\"\"

    def __init__(self, alpha: float, beta: int = 3) -> None:
        super().__init__()
"""


def test_a_class_of_the_users_is_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "listed_own.py").write_text(OWN)
    assert main(["list", "methods", "listed_own:Mine"]) == 0
    output = capsys.readouterr().out
    assert "Replay with a weight." in output
    assert [line.split()[:2] for line in output.splitlines()[-2:]] == [["alpha", "(required)"], ["beta", "3"]]
    assert main(["list", "methods", "listed_own:Mine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["listed_own:Mine"]["hyper_parameters"]["beta"]["default"] == 3
    assert main(["list", "regularizers", "listed_own:Mine"]) == 2
    assert "must be a subclass of casper.Regularizer" in capsys.readouterr().err
    assert main(["list", "methods", "er-acc"]) == 2
    assert "did you mean 'er-ace'" in capsys.readouterr().err
