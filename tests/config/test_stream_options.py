import pytest

from casper.config import ConfigError, Options, resolve_config
from casper.config.stream_options import fitted_to_stream, stream_arguments


def test_the_streams_own_defaults_are_filled_in():
    options = resolve_config({"stream": "split-cifar100"}).options
    assert (options.tasks, options.class_order, options.image_size) == (10, "label", None)
    options = resolve_config({"stream": "rotated-digits"}).options
    assert (options.tasks, options.class_order, options.image_size) == (5, None, None)


def test_what_was_given_reaches_the_stream():
    given = {"stream": "split-cifar100", "tasks": 5, "class_order": "shuffled", "image_size": 8, "seed": 3}
    arguments = stream_arguments(resolve_config(given).options, "somewhere")
    assert arguments == {
        "num_tasks": 5,
        "class_order": "shuffled",
        "image_size": 8,
        "seed": 3,
        "data_dir": "somewhere",
    }


def test_a_stream_gets_only_what_it_takes():
    assert stream_arguments(resolve_config({"stream": "rotated-digits"}).options, None) == {"num_tasks": 5, "seed": 0}


def test_an_option_that_does_not_apply_is_refused_where_the_user_gave_it():
    options = Options(stream="rotated-digits", class_order="shuffled")
    with pytest.raises(ConfigError, match="--class-order does not apply to --stream rotated-digits"):
        fitted_to_stream(options, {"class_order"})
    assert fitted_to_stream(options, set()).class_order is None


@pytest.mark.parametrize("stream", ["hub:owner/name", "folder:somewhere", "npz:file.npz"])
def test_images_of_ones_own_need_a_number_of_tasks(stream):
    with pytest.raises(ConfigError, match=f"--tasks must be given with --stream {stream}"):
        resolve_config({"stream": stream})
