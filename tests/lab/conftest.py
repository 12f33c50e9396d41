"""What tests of commands share."""

import pytest

from lab.run.errors import guard


@pytest.fixture
def one_line(capsys):
    """Calls what must fail for a user's mistake, with this exit code; returns the one line that it says on stderr."""

    def said(call, *arguments, code=2, **options):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            guard(call)(*arguments, **options)
        error = capsys.readouterr().err
        assert end.value.code == code and error.startswith("error: ") and error.count("\n") == 1, error
        return error.strip()

    return said
