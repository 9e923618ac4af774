import pytest

from casper import ERACE, ConvNet, TaskStream
from casper.config import KINDS, PATTERNS, ConfigError, describe, find_part
from casper.config.parameters import takes


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_resolves_and_describes_itself_in_one_line(kind):
    for name, thing in KINDS[kind].items():
        assert find_part(kind, name) is thing
        assert describe(thing)
        assert "\n" not in describe(thing)


@pytest.mark.parametrize("name", KINDS["stream"])
def test_every_stream_is_one(name, data_dir):
    stream = KINDS["stream"][name]
    assert isinstance(stream(data_dir=str(data_dir)) if takes(stream, "data_dir") else stream(), TaskStream)


@pytest.mark.parametrize("kind", KINDS)
def test_names_with_a_part_of_the_users_own(kind):
    for pattern, factory in PATTERNS[kind].items():
        prefix = pattern.partition(":")[0]
        found = find_part(kind, f"{prefix}:some/thing.v2:x")
        assert (found.func, found.args) == (factory, ("some/thing.v2:x",))
        assert describe(found) == describe(factory) != ""
        with pytest.raises(ConfigError, match=f"must be given as {pattern}"):
            find_part(kind, f"{prefix}:")


def test_a_users_own_class_is_found_in_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "own_methods_a.py").write_text("from casper import ERACE\nclass Mine(ERACE):\n    pass\n")
    monkeypatch.chdir(tmp_path)
    assert issubclass(find_part("method", "own_methods_a:Mine"), ERACE)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("er_ace", "unknown method 'er_ace'; did you mean 'er-ace'?"),
        ("no_such_module:Mine", "cannot be imported"),
        ("own_methods_b:Hal", "did you mean 'Half'? valid: Half, Method"),
        ("own_methods_b:Mine", "must be a subclass of casper.Method, but got the class Mine"),
        ("own_methods_b:number", "must be a subclass of casper.Method, but got int"),
        ("own_methods_b:Half", "must implement losses"),
        ("own_methods_broken:Mine", "cannot be imported: ZeroDivisionError"),
        (":", "cannot be imported"),
    ],
)
def test_what_cannot_be_found_is_said(name, complaint, tmp_path, monkeypatch):
    text = "from casper import Method\nnumber = 1\nclass Mine:\n    pass\nclass Half(Method):\n    pass\n"
    (tmp_path / "own_methods_b.py").write_text(text)
    (tmp_path / "own_methods_broken.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        find_part("method", name)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name", "suggested"),
    [
        ("stream", "foldr:six", "folder:six"),
        ("stream", "Folder:some/where", "folder:some/where"),
        ("stream", "hug:owner/name", "hub:owner/name"),
        ("stream", "nzp:file.npz", "npz:file.npz"),
        ("stream", "foldr:" + "x" * 100, "folder:PATH"),
        ("stream", "hub", "hub:OWNER/NAME"),
        ("backbone", "tim:resnet50", "timm:resnet50"),
        ("backbone", "timn", "timm:NAME"),
    ],
)
def test_a_prefix_with_a_typing_error_is_corrected(kind, name, suggested):
    with pytest.raises(ConfigError, match=f"^unknown {kind} .*; did you mean '{suggested}'\\? valid: "):
        find_part(kind, name)


def test_a_module_that_exists_is_not_taken_for_a_prefix(tmp_path, monkeypatch):
    (tmp_path / "foldr.py").write_text("import no_such_module\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"module 'foldr' cannot be imported: .*no_such_module"):
        find_part("stream", "foldr:six")
    with pytest.raises(ConfigError, match="module 'six_streams' cannot be imported"):
        find_part("stream", "six_streams:six")


@pytest.mark.parametrize(
    ("annotation", "fits"),
    [
        ("-> TaskStream", True),
        ("-> 'TaskStream'", True),
        ("-> 'casper.TaskStream'", True),
        ("-> Mine", True),
        ("", False),
        ("-> object", False),
        ("-> 'list[TaskStream]'", False),
    ],
)
def test_a_function_must_say_that_it_makes_a_stream(annotation, fits, tmp_path, monkeypatch):
    name = f"own_streams_{abs(hash(annotation))}"
    text = f"from casper import TaskStream\nclass Mine(TaskStream):\n    pass\ndef make() {annotation}:\n    1 / 0\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert find_part("stream", f"{name}:Mine")
    if fits:
        assert find_part("stream", f"{name}:make")
        return
    with pytest.raises(ConfigError, match="annotated to return a TaskStream, but got function"):
        find_part("stream", f"{name}:make")


def test_kinds_do_not_mix():
    with pytest.raises(ConfigError, match=r"must be a subclass of casper\.Regularizer"):
        find_part("regularizer", f"{ConvNet.__module__}:ConvNet")
