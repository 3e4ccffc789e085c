"""`fabric top`: the terminal application by textual's own pilot, against a server that is a table."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Footer, Input, Static
from textual.widgets._footer import FooterKey

from fabric.cli import top
from fabric.errors import FabricError, InputErrors, Problem
from fabric.render import text
from telemetry.live.client import LiveError, base_url
from telemetry.live.forms import Field, Form, forms
from telemetry.live.screen import FormScreen, Menu, RowTable, Top
from telemetry.live.shown import PORTS, PORTS_BY, QUEUES, QUEUES_BY, incident_text, ordered, size_text, status_text

STATUS: dict[str, Any] = {
    "scenario": "pause-storm",
    "version": "1",
    "hosts": 12,
    "switches": 5,
    "state": "running",
    "pass": 1,
    "passes": 0,
    "sim_time_seconds": 0.0023,
    "duration_seconds": 0.02,
    "elapsed_seconds": 0.0023,
    "loop": True,
    "dilation": 1000.0,
    "realtime_ratio": 0.001,
    "slipped_seconds": 0.0,
    "hosts_paused": 3,
}


def port(device: str, share: float, **more: object) -> dict[str, Any]:
    return {
        "device": device,
        "port": "Ethernet0",
        "priority": 3,
        "peer": "host4:eth0",
        "up": True,
        "paused": share > 0,
        "paused_ratio": share,
        "paused_seconds": share / 100,
        "pausing": False,
        "transmit_ratio": 0.5,
        **more,
    }


def queue(device: str, depth: int) -> dict[str, Any]:
    return {
        "device": device,
        "port": "Ethernet0",
        "queue": 3,
        "bytes": depth,
        "peak_bytes": depth,
        "marked_packets": 7,
        "dropped_packets": 0,
        "stormed": depth > 10**6,
    }


INCIDENT = {
    "origin": "host4:eth0",
    "cause": "broken NIC",
    "text": "broken NIC host4:eth0 (class 3)",
    "priority": 3,
    "since_seconds": 0.0002,
    "until_seconds": 0.002,
    "open": True,
    "depth": 1,
    "hosts": ["host1"],
    "switches": ["leaf1"],
    "paused_seconds": 0.0018,
    "remedy": "reset it",
    "tree": [
        {
            "port": "host4:eth0",
            "victim": "leaf1:Ethernet0",
            "depth": 0,
            "pauses": 1,
            "paused_seconds": 0.0018,
            "still": True,
        }
    ],
}
ROOTS = {
    "pass": 1,
    "from_seconds": 0.0,
    "until_seconds": 0.002,
    "roots": [
        {
            "kind": "broken-nic",
            "title": "a NIC pauses though it holds nothing",
            "place": "host4:eth0 (class 3)",
            "since_seconds": 0.0002,
            "until_seconds": 0.002,
            "open": True,
            "confidence": 0.98,
            "evidence": ["paused leaf1:Ethernet0 for 1.8ms"],
            "act": "shut the port of the host",
        }
    ],
}
DESCRIPTION = {
    "components": {
        "schemas": {
            "Fault": {
                "discriminator": {
                    "mapping": {
                        "link-down": "#/components/schemas/LinkDown",
                        "pause-storm": "#/components/schemas/Storm",
                    }
                }
            },
            "LinkDown": {
                "description": "A cable is cut.",
                "required": ["kind", "link"],
                "properties": {
                    "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    "kind": {"const": "link-down"},
                    "link": {"type": "string", "description": "Which."},
                    "until": {"type": "string"},
                },
            },
            "Storm": {
                "description": "A broken NIC.",
                "required": ["kind", "hosts"],
                "properties": {
                    "kind": {},
                    "hosts": {"type": "array", "items": {"type": "string"}},
                    "priorities": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
                    "duty": {"type": "number"},
                    "quanta": {"type": "integer"},
                    "curve": {"$ref": "#/components/schemas/Curve"},
                },
            },
            "Curve": {"type": "object", "properties": {}},
            "ConfigChange": {"discriminator": {"mapping": {"shut": "#/components/schemas/LinkDown"}}},
        }
    }
}


class Table:
    """A server that answers from a table and records its requests."""

    url = "http://127.0.0.1:1"

    def __init__(self) -> None:
        self.view: dict[str, Any] = {
            "status": dict(STATUS),
            "window_seconds": 0.001,
            "incidents": [INCIDENT],
            "ports": [port("leaf1", 0.25), port("spine1", 0.75), port("leaf2", 0.0)],
            "queues": [queue("leaf1", 4000), queue("spine1", 9_000_000)],
        }
        self.posted: list[tuple[str, Mapping[str, Any] | None]] = []
        self.refusal: FabricError | None = None

    def get(self, name: str, **query: int) -> dict[str, Any]:
        if name == "openapi.json":
            return DESCRIPTION
        if self.refusal is not None:
            raise self.refusal
        return {"view": self.view, "roots": ROOTS}[name]

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.posted.append((name, body))
        return {"name": "live-1", "kind": "x", "at_seconds": 0.0024}


def on_screen(test: Callable[[Top, Pilot[None], Table], Awaitable[None]], table: Table | None = None) -> None:
    """Run the application without a terminal."""
    server = table or Table()

    async def simulate() -> None:
        app = Top(server, interval_s=3600)
        async with app.run_test(size=(140, 40)) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            await test(app, pilot, server)

    asyncio.run(simulate())


def text_of(app: Top, name: str) -> str:
    return str(app.query_one(name, Static).render())


async def settled(app: Top, pilot: Pilot[None]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def test_ports_stand_in_order_of_their_share_of_pause() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        shown = app.query_one("#ports", RowTable).rows_shown
        assert [row["device"] for row in shown] == ["spine1", "leaf1", "leaf2"]
        assert [row["device"] for row in app.query_one("#queues", RowTable).rows_shown] == ["spine1", "leaf1"]
        assert "3 of 12 hosts are paused" in text_of(app, "#status")
        assert "broken NIC host4:eth0" in text_of(app, "#trees")
        assert "host4:eth0 paused leaf1:Ethernet0" in text_of(app, "#trees")

    on_screen(test)


def test_root_causes_stand_above_the_trees_with_what_to_do_first() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        lines = text_of(app, "#trees").splitlines()
        assert lines[0] == "root causes up to 2ms:"
        assert lines[1].startswith("● broken-nic at host4:eth0 (class 3)  200us to now, sure 98%")
        assert lines[1].endswith("First: shut the port of the host")
        assert lines.index("") < next(number for number, it in enumerate(lines) if "broken NIC" in it)

    on_screen(test)


@pytest.mark.parametrize("opens", ["question_mark", "palette"])
def test_escape_closes_the_help(opens: str) -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        if opens == "palette":
            app.action_show_help_panel()
        else:
            await pilot.press(opens)
        await pilot.pause()
        assert len(app._notifications) or app.screen.query("HelpPanel")
        await pilot.press("escape")
        await pilot.pause()
        assert not len(app._notifications)
        assert not app.screen.query("HelpPanel")

    on_screen(test)


def test_t_shows_trees_on_one_line_each() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("t")
        assert "host4:eth0 paused leaf1:Ethernet0" not in text_of(app, "#trees")
        assert "broken NIC host4:eth0" in text_of(app, "#trees")

    on_screen(test)


def test_space_pauses_a_run_that_advances_and_resumes_one_that_is_paused() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("space")
        await settled(app, pilot)
        table.view["status"]["state"] = "paused"
        app.look()
        await settled(app, pilot)
        await pilot.press("space")
        await settled(app, pilot)
        assert [name for name, _ in table.posted] == ["pause", "resume"]

    on_screen(test)


def test_plus_halves_the_dilation_and_minus_doubles_it() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("plus")
        await settled(app, pilot)
        await pilot.press("minus")
        await settled(app, pilot)
        assert table.posted == [("speed", {"dilation": 500.0}), ("speed", {"dilation": 2000.0})]

    on_screen(test)


def test_s_sorts_the_table_in_focus_by_its_next_column() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        table.view["ports"][2]["paused_seconds"] = 99.0
        app.look()
        await settled(app, pilot)
        await pilot.press("s")
        assert app.query_one("#ports", RowTable).rows_shown[0]["device"] == "leaf2"
        await pilot.press("tab", "s")
        assert app.query_one("#queues", RowTable).border_subtitle == "by Peak"

    on_screen(test)


def test_a_filter_hides_other_rows_until_escape() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("slash", *"spine", "enter")
        await pilot.pause()
        assert [row["device"] for row in app.query_one("#ports", RowTable).rows_shown] == ["spine1"]
        assert not app.query_one("#filter", Input).display
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.query_one("#ports", RowTable).rows_shown) == 3

    on_screen(test)


def test_the_cursor_stays_where_it_is_when_rows_come_anew() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("down", "down")
        app.look()
        await settled(app, pilot)
        assert app.query_one("#ports", RowTable).cursor_row == 2

    on_screen(test)


def test_a_fault_is_chosen_filled_in_and_sent() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("f")
        await pilot.pause()
        assert isinstance(app.screen, Menu)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, FormScreen)
        # The port under the cursor is what the form suggests.
        assert app.screen.query_one("#field-link", Input).value == "spine1:Ethernet0"
        app.screen.query_one("#field-until", Input).value = "+1ms"
        await pilot.press("enter")
        await settled(app, pilot)
        assert table.posted == [("faults", {"kind": "link-down", "link": "spine1:Ethernet0", "until": "+1ms"})]
        assert not isinstance(app.screen, FormScreen)

    on_screen(test)


def test_a_refused_fault_keeps_its_form_and_says_why_until_it_is_right() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("f")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        table.refusal = InputErrors("checking the fault", [Problem("fault.link", "is no cable", "name a cable")])
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, FormScreen)
        assert "name a cable" in str(app.screen.query_one("#problems", Static).render())
        table.refusal = None
        await pilot.press("enter")
        await settled(app, pilot)
        assert [name for name, _ in table.posted] == ["faults"]

    on_screen(test)


def test_escape_leaves_the_menu_and_the_form_without_sending() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("c")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, FormScreen)
        assert not table.posted

    on_screen(test)


def test_a_server_that_is_gone_is_said_and_asked_again() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        table.refusal = LiveError("no answer from http://127.0.0.1:1", "start it")
        app.look()
        await settled(app, pilot)
        assert "no answer" in text_of(app, "#status")
        table.refusal = None
        app.look()
        await settled(app, pilot)
        assert "pause-storm" in text_of(app, "#status")

    on_screen(test)


def test_a_terminal_of_80_columns_shows_how_to_leave_and_where_the_keys_are() -> None:
    async def test() -> None:
        app = Top(Table())
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app, pilot)
            footer = app.query_one(Footer)
            shown = [key.description for key in footer.query(FooterKey) if key.region.right <= 80]
            assert {"quit", "keys", "pause/go on", "faster", "slower", "break"} <= set(shown)

    asyncio.run(test())


def test_a_long_form_in_a_small_terminal_keeps_its_title_its_first_field_and_its_problems_in_sight() -> None:
    fields = tuple(Field(f"field{number}", number == 0, "text", "What it is.") for number in range(12))

    async def test() -> None:
        app = Top(Table(), interval_s=3600)
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app, pilot)
            app.push_screen(FormScreen(Form("storm", "A broken NIC.", fields), {}, lambda _: ""))
            await pilot.pause()
            await pilot.pause()
            box = app.screen.query_one(".box").region
            for name in (".title", ".field", "#field-field0", "#problems"):
                region = app.screen.query(name).first().region
                assert region.height
                assert box.contains_region(region), name

    asyncio.run(test())


def test_q_ends_the_application_and_not_the_run() -> None:
    async def test(app: Top, pilot: Pilot[None], table: Table) -> None:
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running
        assert not table.posted

    on_screen(test)


# ===== without a screen =====


def test_a_form_reads_every_kind_of_field() -> None:
    storm = forms(DESCRIPTION, "Fault")["pause-storm"]
    assert [field.name for field in storm.fields] == ["hosts", "priorities", "duty", "quanta", "curve"]
    assert storm.read(
        {"hosts": "host1, host2", "priorities": "[3, 4]", "duty": "0.5", "quanta": "7", "curve": '{"a": 1}'}
    ) == {
        "kind": "pause-storm",
        "hosts": ["host1", "host2"],
        "priorities": [3, 4],
        "duty": 0.5,
        "quanta": 7,
        "curve": {"a": 1},
    }
    assert storm.read({"hosts": "host1", "duty": " "}) == {"kind": "pause-storm", "hosts": ["host1"]}


def test_a_form_names_every_field_that_it_cannot_read() -> None:
    with pytest.raises(InputErrors) as caught:
        forms(DESCRIPTION, "Fault")["pause-storm"].read({"duty": "half", "quanta": "1.5", "curve": "{"})
    assert [problem.path for problem in caught.value.problems] == ["duty", "quanta", "curve"]


def test_a_filter_looks_at_what_is_shown() -> None:
    rows = [port("leaf1", 0.25), port("spine1", 0.75, up=False)]
    assert ordered(rows, PORTS, PORTS_BY, "DOWN") == [rows[1]]
    assert ordered(rows, PORTS, PORTS_BY, "25.0%") == [rows[0]]


def test_numbers_go_down_and_names_go_up() -> None:
    rows = [queue("b", 1), queue("a", 2), queue("c", 3)]
    assert [row["device"] for row in ordered(rows, QUEUES, QUEUES_BY)] == ["c", "a", "b"]
    assert [row["device"] for row in ordered(rows, QUEUES, 0)] == ["a", "b", "c"]


def test_the_status_says_what_pace_is_held_and_what_was_lost() -> None:
    text = status_text({**STATUS, "realtime_ratio": 0.0005, "slipped_seconds": 1.5})
    assert "dilation 1,000, held 2,000, behind by 1.5s so far" in text
    assert "pass" not in status_text({**STATUS, "loop": False})


def test_an_incident_says_whom_it_stopped() -> None:
    assert "200us to now" in incident_text(INCIDENT)
    assert "200us to 2ms" in incident_text({**INCIDENT, "open": False})


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0B"), (999, "999B"), (1000, "1.00KB"), (6_286_896, "6.29MB"), (2e9, "2.00GB")]
)
def test_sizes_are_decimal(size: float, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:9464", "http://127.0.0.1:9464"),
        ("http://h:1/metrics", "http://h:1"),
        ("https://[::1]:9", "https://[::1]:9"),
    ],
)
def test_an_address_is_what_serve_printed_or_part_of_it(text: str, url: str) -> None:
    assert base_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "ftp://host:1",
        "http://host:port",
        "http://host:1/other",
        "file:///etc/x",
        "http://[::1",
        "127.0.0.1:99999",
        "http://user:word@host:1",
    ],
)
def test_an_address_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(LiveError) as caught:
        base_url(text)
    assert "9464" in caught.value.hint


def test_plain_print_cuts_no_number_and_no_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(text, "PIPE_WIDTH", 80)
    long = {"port": "Ethernet120", "peer": "spine16:Ethernet124", "paused_seconds": 2.6631e-2, "pausing": True}
    view = {
        "status": STATUS,
        "window_seconds": 1e-3,
        "ports": [port("leaf1", 1.0, **long)],
        "incidents": [],
        "queues": [queue("leaf1", 9 * 10**6) | {"port": "Ethernet120", "marked_packets": 1_234_567}],
    }
    top._print(view, ROOTS)
    out = capsys.readouterr().out
    assert "…" not in out
    assert "broken-nic at host4:eth0 (class 3)" in out
    assert {"leaf1:Ethernet120", "100.0%", "leaf1:Ethernet120/3", "1,234,567"} <= set(out.split())
    assert "left out for lack of width: " in out
