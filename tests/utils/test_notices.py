import sys

from stakes.utils import _notices


class Terminal:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def isatty(self):
        return True


def test_compiling_is_told_once_to_a_terminal_unless_somebody_shows_it(monkeypatch):
    terminal, told = Terminal(), []
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_notices, "_told", [])
    monkeypatch.setattr(_notices, "on_compile", [lambda: told.append(1)])
    _notices.compiling()
    assert (told, terminal.text) == ([1], "")
    monkeypatch.setattr(_notices, "on_compile", [])
    _notices.compiling()
    _notices.compiling()
    assert terminal.text.count("compiles its kernels") == 1
