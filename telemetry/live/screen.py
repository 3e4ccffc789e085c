"""`fabric top`: a live run in the terminal, with textual.

A separate thread polls the server once an interval; the last answer is shown, and keys send requests. All data come
from the public API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Label, OptionList, Static

from fabric.errors import FabricError
from telemetry.live.forms import Form, forms
from telemetry.live.shown import (
    PORTS,
    PORTS_BY,
    QUEUES,
    QUEUES_BY,
    Row,
    Shown,
    incident_text,
    ordered,
    root_text,
    roots_text,
    status_text,
    tree_lines,
)

_KEYS: Final = """\
space   pause or resume
+ -     twice as fast, half as fast
s       sort by the next column
tab     ports, queues, root causes and pause trees
/       show only rows with a text
esc     all rows again
f       inject a fault
c       change a configuration
t       whole trees, or one line each
q       quit; the run continues
"""


def _no_trees(ports: Sequence[Row]) -> str:
    if any(row["paused_seconds"] for row in ports):
        return "no trees: this run records no pauses; add 'pause' to telemetry.events of the scenario"
    return "no port has been paused in this pass"


class Server(Protocol):
    """The interface of telemetry/live/client.py."""

    url: str

    def get(self, name: str, **query: int) -> dict[str, Any]:
        """GET a route."""

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """POST to a route."""


class RowTable(DataTable[Text]):
    """Rows of the server with the columns of shown.py; keeps order, filter and cursor between updates."""

    def __init__(self, columns: Sequence[Shown], by: int, **options: Any) -> None:  # noqa: ANN401  the base's own
        super().__init__(cursor_type="row", zebra_stripes=True, **options)
        self._shown, self._by = columns, by
        self._all: Sequence[Row] = ()
        self.wanted = ""
        self.rows_shown: list[Row] = []

    def on_mount(self) -> None:
        """Create the columns."""
        for number, column in enumerate(self._shown):
            self.add_column(Text(column.title, justify="right" if column.number else "left"), key=str(number))
        self._mark()

    def show(self, rows: Sequence[Row]) -> None:
        """Another answer."""
        self._all = rows
        self.rows_shown = ordered(rows, self._shown, self._by, self.wanted)
        at = self.cursor_row
        self.clear()
        for row in self.rows_shown:
            self.add_row(
                *(Text(column.text(row), justify="right" if column.number else "left") for column in self._shown)
            )
        self.move_cursor(row=min(at, max(len(self.rows_shown) - 1, 0)), animate=False)

    def sort_next(self) -> str:
        """Sort by the next column; returns its title."""
        self._by = (self._by + 1) % len(self._shown)
        self._mark()
        self.show(self._all)
        return self._shown[self._by].title or "state"

    def filter(self, wanted: str) -> None:
        """Show only rows with this text."""
        self.wanted = wanted
        self.show(self._all)

    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows_shown[self.cursor_row] if 0 <= self.cursor_row < len(self.rows_shown) else None

    def _mark(self) -> None:
        self.border_subtitle = f"by {self._shown[self._by].title or 'state'}"


class Menu(ModalScreen[str]):
    """Choose one of several entries; Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "back")]

    def __init__(self, title: str, options: Mapping[str, str]) -> None:
        super().__init__()
        self._title, self._options = title, options
        self._names = list(options)

    def compose(self) -> ComposeResult:
        """A list in a box."""
        with Vertical(classes="box"):
            yield Label(self._title, classes="title", markup=False)
            yield OptionList(*(Text(f"{name:<16}{text}") for name, text in self._options.items()))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """The choice."""
        self.dismiss(self._names[event.option_index])


class FormScreen(ModalScreen[str]):
    """Form of one fault or change; problems of the request are shown in the form."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "back")]

    def __init__(self, form: Form, defaults: Mapping[str, str], send: Callable[[Mapping[str, Any]], str]) -> None:
        super().__init__()
        self._form, self._defaults, self._send = form, defaults, send

    def compose(self) -> ComposeResult:
        """A line for every field, between title and problems, which stay visible."""
        with Vertical(classes="box"):
            yield Label(f"{self._form.kind}: {self._form.help}", classes="title", markup=False)
            with VerticalScroll(id="fields"):
                for field in self._form.fields:
                    note = "" if field.required else " (optional)"
                    yield Label(f"{field.name}{note}  {field.help}", classes="field", markup=False)
                    yield Input(
                        self._defaults.get(field.name, "") if field.required else "",
                        id=f"field-{field.name}",
                        placeholder=field.kind,
                        compact=True,
                    )
            yield Static("Enter sends, Tab moves to the next field, Escape cancels.", id="problems", markup=False)

    def on_mount(self) -> None:
        """Focus the first field without scrolling away its title."""
        self.call_after_refresh(self.query_one("#fields").scroll_home, animate=False)

    def on_input_submitted(self) -> None:
        """Send; keep the form open where the request has problems."""
        texts = {field.name: self.query_one(f"#field-{field.name}", Input).value for field in self._form.fields}
        try:
            self.dismiss(self._send(self._form.read(texts)))
        except FabricError as error:
            self.query_one("#problems", Static).update(str(error))


class Top(App[None]):
    """The application.

    Parameters
    ----------
    server : Server         the watched server
    interval_s : float      time between two requests
    """

    TITLE = "fabric top"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (136, "-wide")]  # noqa: RUF012  textual reads it from the class
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #status { height: 2; padding: 0 1; }
    #tables { height: 2fr; }
    #ports { width: 3fr; border: round $primary; }
    #queues { width: 2fr; border: round $primary; }
    .-narrow #tables { layout: vertical; height: 3fr; }
    .-narrow #ports, .-narrow #queues { width: 100%; height: 1fr; }
    RowTable { scrollbar-size: 1 1; }
    #incidents { height: 1fr; border: round $warning; padding: 0 1; }
    #filter { display: none; height: 3; }
    .box { border: thick $primary; background: $surface; width: 90%; max-width: 110; height: auto; max-height: 90%;
           padding: 1 2; }
    .title { text-style: bold; margin-bottom: 1; }
    .field { color: $text-muted; }
    #fields { height: auto; max-height: 50vh; }
    #problems { margin-top: 1; max-height: 20vh; overflow-y: auto; }
    Menu, FormScreen { align: center middle; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # A terminal of 80 columns shows only the first keys, so `quit` and `keys` come first.
        Binding("q", "quit", "quit"),
        Binding("question_mark", "keys", "keys"),
        Binding("space", "hold", "pause/go on", priority=False),
        Binding("plus,equals_sign", "pace(0.5)", "faster"),
        Binding("minus,underscore", "pace(2)", "slower"),
        Binding("f", "fault", "break"),
        Binding("c", "configure", "change"),
        Binding("s", "sort", "sort"),
        Binding("slash", "filter", "filter"),
        Binding("t", "trees", "trees"),
        Binding("escape", "unfilter", "show all", show=False),
    ]

    def __init__(self, server: Server, interval_s: float = 1.0) -> None:
        super().__init__()
        self._server, self._interval_s = server, interval_s
        self._view: dict[str, Any] | None = None
        self._roots: dict[str, Any] | None = None
        self._asking_roots = False
        self._whole_trees = True
        self._forms: dict[str, dict[str, Form]] = {}

    def compose(self) -> ComposeResult:
        """Status, tables, incidents, keys."""
        yield Static("asking ...", id="status", markup=False)
        with Horizontal(id="tables"):
            yield RowTable(PORTS, PORTS_BY, id="ports")
            yield RowTable(QUEUES, QUEUES_BY, id="queues")
        with VerticalScroll(id="incidents"):
            yield Static("", id="trees", markup=False)
        yield Input(placeholder="show only rows with this text; Enter keeps the filter, Escape shows all", id="filter")
        yield Footer()

    def on_mount(self) -> None:
        """Start polling."""
        self.query_one("#ports").border_title = "Ports, by priority"
        self.query_one("#queues").border_title = "Egress queues"
        self.query_one("#incidents").border_title = "Root causes, and pause trees"
        self.query_one("#ports").focus()
        for read in (self.look, self.look_for_roots):
            self.set_interval(self._interval_s, read)
            read()

    # ===== reads =====

    @work(thread=True, exclusive=True, group="look")
    def look(self) -> None:
        """Read from the server; the main thread shows the answer."""
        try:
            view = self._server.get("view", rows=500)
        except FabricError as error:
            self.call_from_thread(self._trouble, str(error))
        else:
            self.call_from_thread(self._show, view)

    @work(thread=True, exclusive=True, group="roots")
    def look_for_roots(self) -> None:
        """Read the root causes, whose answer may take longer than the tables; look() says what is wrong."""
        if self._asking_roots:  # a worker that runs in a thread goes on although another one takes its place
            return
        self._asking_roots = True
        try:
            found = self._server.get("roots")
        except FabricError:
            return
        finally:
            self._asking_roots = False
        self.call_from_thread(self._show_roots, found)

    def _show_roots(self, found: dict[str, Any]) -> None:
        self._roots = found
        if self._view is not None:
            self._show_causes(self._view)

    def _trouble(self, text: str) -> None:
        self.query_one("#status", Static).update(f"{text}\n(asking again)")

    def _show(self, view: dict[str, Any]) -> None:
        self._view = view
        self.query_one("#status", Static).update(status_text(view["status"]))
        self.query_one("#ports", RowTable).show(view["ports"])
        self.query_one("#queues", RowTable).show(view["queues"])
        self._show_causes(view)

    def _show_causes(self, view: Row) -> None:
        """Root causes of all metrics, then the pauses as trees."""
        lines: list[str] = []
        if self._roots is not None:
            lines.append(roots_text(self._roots))
            lines += [f"{'●' if root['open'] else '○'} {root_text(root)}" for root in self._roots["roots"]]
            lines.append("")
        trees = view["incidents"]
        if not trees:
            lines.append(_no_trees(view["ports"]))
        for incident in trees:
            lines.append(f"{'●' if incident['open'] else '○'} {incident_text(incident)}")
            if self._whole_trees:
                lines += [f"    {line}" for line in tree_lines(incident)]
        self.query_one("#trees", Static).update("\n".join(lines))

    # ===== changes =====

    @work(thread=True, group="do")
    def _do(self, name: str, body: Mapping[str, Any] | None, message: str) -> None:
        try:
            self._server.post(name, body)
        except FabricError as error:
            self.call_from_thread(self.notify, str(error), severity="error", timeout=8, markup=False)
        else:
            self.call_from_thread(self.notify, message)
            self.call_from_thread(self.look)

    def action_hold(self) -> None:
        """Pause or resume."""
        if self._view is not None:
            held = self._view["status"]["state"] == "paused"
            self._do("resume" if held else "pause", None, "resumed" if held else "paused")

    def action_pace(self, factor: float) -> None:
        """Another dilation."""
        if self._view is not None:
            dilation = self._view["status"]["dilation"] * factor
            self._do("speed", {"dilation": dilation}, f"dilation {dilation:,g}")

    def action_sort(self) -> None:
        """The next column of the table in focus."""
        table = self.focused if isinstance(self.focused, RowTable) else self.query_one("#ports", RowTable)
        self.notify(f"sorted by {table.sort_next()}")

    def action_filter(self) -> None:
        """Open the filter."""
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def action_unfilter(self) -> None:
        """Show all rows again; close the keys and every other message."""
        self.clear_notifications()
        self.action_hide_help_panel()
        box = self.query_one("#filter", Input)
        box.value = ""
        self._close_filter()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        if event.input.id == "filter":
            for table in self.query(RowTable):
                table.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter."""
        if event.input.id == "filter":
            self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).display = False
        self.query_one("#ports").focus()

    def action_trees(self) -> None:
        """Toggle between whole trees and one line each."""
        self._whole_trees = not self._whole_trees
        if self._view is not None:
            self._show(self._view)

    def action_keys(self) -> None:
        """Show the keys."""
        self.notify(_KEYS, title="keys (Escape closes)", timeout=60)

    def action_fault(self) -> None:
        """Choose a fault and fill in its form."""
        self._choose("Inject a fault into this pass", "Fault", "faults", "broken")

    def action_configure(self) -> None:
        """Choose a change and fill in its form."""
        self._choose("Change a configuration in this pass", "ConfigChange", "config", "changed")

    def _choose(self, title: str, schema: str, route: str, done: str) -> None:
        try:
            if not self._forms:
                description = self._server.get("openapi.json")
                self._forms = {name: forms(description, name) for name in ("Fault", "ConfigChange")}
        except FabricError as error:
            self.notify(str(error), severity="error", timeout=8, markup=False)
            return
        known = self._forms[schema]

        def send(body: Mapping[str, Any]) -> str:
            answer = self._server.post(route, body)
            return f"{answer['name']}: {done} at {answer['at_seconds'] * 1000:.6g}ms"

        def chosen(kind: str | None) -> None:
            if kind:
                self.push_screen(FormScreen(known[kind], self._defaults(), send), confirmed)

        def confirmed(text: str | None) -> None:
            if text:
                self.notify(text, markup=False)
                self.look()

        self.push_screen(Menu(title, {kind: form.help for kind, form in known.items()}), chosen)

    def _defaults(self) -> dict[str, str]:
        """Default values from the port under the cursor."""
        row = self.query_one("#ports", RowTable).current()
        if row is None:
            return {}
        place, peer = f"{row['device']}:{row['port']}", str(row["peer"])
        return {
            "link": place,
            "port": place,
            "ports": place,
            "hosts": peer.partition(":")[0],
            "switches": row["device"],
            "duration": "2ms",
        }
