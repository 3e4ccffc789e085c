// Replay of pause propagation: lights up the half of every cable whose end is paused at the slider's time.
"use strict";
document.querySelectorAll(".replay").forEach((panel) => {
  const prefix = panel.dataset.for;
  const data = JSON.parse(document.getElementById(prefix + "data").textContent);
  const button = panel.querySelector("button");
  const slider = panel.querySelector("input");
  const clock = panel.querySelector(".clock");
  const count = panel.querySelector(".count");
  const node = (number) => document.getElementById(prefix + "n" + number);
  const half = (link, byA) => document.getElementById(prefix + "h" + link + (byA ? "b" : "a"));
  const stills = data.stills.map(([link, byA, start, end, tree]) =>
    ({ line: half(link, byA), victim: data.links[link][byA ? 1 : 0], start, end, tree }));
  let stopped = new Map();
  let still = new Set();
  let timer = 0;

  const timeAt = (position) => {
    const exact = (position / slider.max) * (data.warp.length - 1);
    const row = Math.min(Math.floor(exact), data.warp.length - 2);
    return data.warp[row] + (exact - row) * (data.warp[row + 1] - data.warp[row]);
  };

  const draw = () => {
    const now = timeAt(Number(slider.value));
    const wanted = new Map();
    const victims = new Set();
    for (const pause of stills) {
      if (pause.start <= now && now < pause.end) {
        wanted.set(pause.line, pause.tree);
        victims.add(pause.victim);
      }
    }
    stopped.forEach((tree, line) => { if (!wanted.has(line)) line.classList.remove("stopped"); });
    wanted.forEach((tree, line) => {
      line.classList.add("stopped");
      // Above the cables that it crosses, and below the devices.
      if (!stopped.has(line)) line.parentNode.insertBefore(line, line.parentNode.querySelector("g"));
    });
    still.forEach((victim) => { if (!victims.has(victim)) node(victim).classList.remove("still"); });
    victims.forEach((victim) => node(victim).classList.add("still"));
    stopped = wanted;
    still = victims;
    const hosts = [...victims].filter((victim) => data.hosts[victim]).length;
    clock.textContent = (now / 1e6).toFixed(4) + " ms";
    const counted = (number, name) => number + " " + name + (number === 1 ? "" : "s");
    const parts = [[wanted.size, "port"], [hosts, "host"]].filter((part) => part[0]).map((part) => counted(...part));
    count.textContent = parts.length
      ? parts.join(" and ") + (wanted.size + hosts === 1 ? " is" : " are") + " paused"
      : "nothing is paused";
    slider.setAttribute("aria-valuetext", clock.textContent + ", " + count.textContent);
  };

  const stop = () => { clearInterval(timer); timer = 0; button.textContent = "▶"; button.ariaLabel = "Play"; };
  button.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    button.textContent = "❚❚";
    button.ariaLabel = "Pause";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 2;
      draw();
      if (Number(slider.value) >= Number(slider.max)) stop();
    }, 30);
  });
  slider.addEventListener("input", () => { stop(); draw(); });
  // Open at the moment at which most ports are paused.
  let most = -1;
  for (let position = 0; position <= Number(slider.max); position += 10) {
    const now = timeAt(position);
    const standing = stills.filter((pause) => pause.start <= now && now < pause.end).length;
    if (standing > most) { most = standing; slider.value = position; }
  }
  draw();
  // Where the drawing is wider than the screen, the origin is in view.
  const box = panel.parentNode.querySelector(".scroll");
  const ring = box.querySelector(".ring");
  if (ring && box.scrollWidth > box.clientWidth) {
    const its = ring.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    box.scrollLeft += its.left + its.width / 2 - frame.left - frame.width / 2;
  }
});
