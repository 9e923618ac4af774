from casper.cli.warning import warn


def test_a_warning_is_one_line_without_signs_that_steer(capsys):
    warn("a\nb\x1b[31m")
    captured = capsys.readouterr()
    assert captured.err == "casper: warning: a?b?[31m\n"
    assert captured.out == ""
