"""The Python of the README runs as printed."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_the_quickstart_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(
        r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert examples
    for example in examples:
        exec(compile(example, str(README), "exec"), {})
