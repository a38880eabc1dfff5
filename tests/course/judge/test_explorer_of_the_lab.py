"""lab.open_explorer: the page of a chapter's model is written once, and nothing else is overwritten."""

from minitransformer_course import lab


def test_the_page_of_a_model_replaces_itself_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _time in range(2):
        lab.open_explorer(*lab.drawkcab(), "key")
        assert capsys.readouterr().out == "explore_key.html: open it in a browser\n"
    (page,) = tmp_path.iterdir()
    assert "<form id" in page.read_text(encoding="utf-8")
    page.write_text("mine")
    lab.open_explorer(*lab.drawkcab(), "key")
    assert page.read_text() == "mine" and len([*tmp_path.iterdir()]) == 2
