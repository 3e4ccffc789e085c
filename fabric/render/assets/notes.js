// Notes of drawings: what a tooltip says of a device, a cable end or a bar, below the drawing, for mouse, finger and keys.
"use strict";
document.querySelectorAll("figure:not(.layered) > .scroll").forEach((box) => {
  const parts = [...box.querySelectorAll("g > title, line > title, rect > title")].map((title) =>
    ({ mark: title.parentNode, text: title.textContent }));
  if (!parts.length) return;
  const devices = parts.filter((part) => part.mark.tagName === "g");
  const rest = parts.filter((part) => part.mark.tagName !== "g");
  const inOrder = (one, other) => one.mark.id.localeCompare(other.mark.id, "en", { numeric: true });
  const ordered = [...devices.sort(inOrder), ...rest.sort(inOrder)];
  const readout = document.createElement("p");
  readout.className = "readout note";
  readout.setAttribute("aria-live", "polite");
  box.after(readout);
  let picked = null;
  const pick = (part) => {
    if (picked) picked.mark.classList.remove("picked");
    picked = part;
    if (part) part.mark.classList.add("picked");
    readout.textContent = part ? part.text : "Touch a part of the drawing, or select the drawing and use the arrow keys.";
  };
  const to = {
    ArrowRight: (now) => (now + 1) % ordered.length,
    ArrowLeft: (now) => (Math.max(now, 0) + ordered.length - 1) % ordered.length,
    ArrowDown: (now) => Math.min(now + 10, ordered.length - 1),
    ArrowUp: (now) => Math.max(now - 10, 0),
    Home: () => 0,
    End: () => ordered.length - 1,
    Escape: () => -1,
  };
  box.addEventListener("pointermove", (event) => {
    const part = nearestPart(event, devices) || nearestPart(event, rest);
    if (part && part !== picked) pick(part);
  });
  box.addEventListener("click", (event) => pick(nearestPart(event, devices) || nearestPart(event, rest)));
  box.addEventListener("blur", () => pick(null));
  box.addEventListener("keydown", (event) => {
    if (!to[event.key]) return;
    event.preventDefault();
    pick(ordered[to[event.key](ordered.indexOf(picked))] || null);
    if (picked) picked.mark.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  pick(null);
});
