"""A project's axis whose setting has the wrong type stops the run before its first test."""


def test_it_is_said_with_the_file_and_the_key(matrix):
    toml = '[axes.tuning]\ngoverns = []\n[axes.tuning.values.on]\nsettings = {"torch._dynamo.config.specialize_int" = "yes"}\n'
    run = matrix("def test_it(): pass\n", "--testmatrix-grid=tuning=on", files={"testmatrix.toml": toml})
    assert run.exit == 4
    (line,) = [line for line in run.result.errlines if line.startswith("ERROR: ")]
    assert line.startswith("ERROR: testmatrix: testmatrix.toml: axes.tuning.values.on.settings.")
    assert "torch._dynamo.config.specialize_int must be a boolean, not 'yes'" in line


def test_an_axis_alone_is_no_grid(matrix):
    run = matrix("def test_it(): pass\n", "--testmatrix-grid=shapes")
    assert run.exit == 4
    assert "is an axis: write shapes=static,auto,dynamic" in run.text
