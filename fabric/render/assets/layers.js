// The layers of the fabric map: colours every cable end, host or cell by the chosen layer and interval of time.
"use strict";
document.querySelectorAll(".layered").forEach((figure) => {
  const data = JSON.parse(figure.querySelector("script.data").textContent);
  const buttons = [...figure.querySelectorAll(".layers button")];
  const slider = figure.querySelector(".moments input");
  const play = figure.querySelector(".play");
  const clock = figure.querySelector(".clock");
  const shown = figure.querySelector(".shown");
  const strip = figure.querySelector(".strip");
  const scale = figure.querySelector(".legend.scale");
  let layer = data.layer;
  let timer = 0;

  const digits = (value) => String(Number(value.toPrecision(3)));
  const scaled = (value, steps) => {
    const [factor, name] = steps.find(([it]) => value >= it) || steps[steps.length - 1];
    return digits(value / factor) + name;
  };
  const text = (about, value) => {
    switch (about.unit) {
      case "ratio": return digits(100 * value) + " %";
      case "times": return digits(value) + "x";
      case "bytes": return scaled(value, [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]);
      default: return value.toLocaleString("en") + (value === 1 ? " packet" : " packets");
    }
  };
  const level = (about, value) => about.limits.filter((limit) => value > limit).length;
  const at = (changes, interval) => {
    let value = 0;
    for (let row = 0; changes && row < changes.length && changes[row] <= interval; row += 2) value = changes[row + 1];
    return value;
  };

  const panes = data.panes.map((own, number) => {
    const box = figure.querySelectorAll(".drawing")[number];
    const id = (name) => document.getElementById(box.dataset.prefix + name);
    const gone = new Set(own.hidden);
    const towards = (end) => {
      const [a, b] = own.links[end >> 1];
      const [here, there] = end % 2 ? [b, a] : [a, b];
      return own.nodes[here] + ":" + own.ports[end] + " towards " + own.nodes[there];
    };
    let ends = [];
    if (own.cells) {
      ends = own.cells.map(([name, list, hosts, row, column], cell) =>
        ({ mark: id("c" + cell), ends: list, hosts, name, row, column, device: row }));
    } else {
      own.links.forEach(([a, b], link) => {
        if (gone.has(a) || gone.has(b)) return;
        ends.push({ mark: id("h" + link + "a"), ends: [2 * link], hosts: [], device: a, name: towards(2 * link) });
        ends.push({ mark: id("h" + link + "b"), ends: [2 * link + 1], hosts: [], device: b, name: towards(2 * link + 1) });
      });
      ends.sort((one, other) => one.device - other.device);
    }
    const hosts = own.cells ? [] : own.hosts.filter((host) => id("n" + host)).map((host) =>
      ({ mark: id("n" + host), ends: [], hosts: [host], device: host, name: own.nodes[host] }));
    const pane = { own, box, ends, hosts, picked: null,
      readout: box.parentElement.querySelector(".readout"), empty: box.parentElement.querySelector(".empty") };

    const value = (item, interval, values = own.layers[layer].values) => {
      const places = data.layers[layer].nodes ? item.hosts : item.ends;
      return places.reduce((most, place) => Math.max(most, at(values[place], interval)), 0);
    };
    const items = () => (data.layers[layer].nodes && hosts.length ? hosts : ends);
    const described = (item, interval) => {
      const about = data.layers[layer];
      const places = about.nodes ? item.hosts : item.ends;
      const most = value(item, interval);
      const where = places.length > 1 && most
        ? " (" + places.filter((place) => at(own.layers[layer].values[place], interval) === most).slice(0, 1)
          .map((place) => about.nodes ? own.nodes[place] : towards(place)) + ")" : "";
      const parts = Object.entries(own.layers[layer].parts)
        .map(([name, values]) => [value(item, interval, values), name]).filter(([count]) => count > 0);
      const named = ([count, name]) => (about.nodes ? text(about, count) : count.toLocaleString("en")) + " " + name;
      if (about.nodes) return item.name + ": " + (parts.map(named).join(", ") || "waiting");
      const made = parts.length === 1 ? ", " + parts[0][1] : parts.length ? " (" + parts.map(named).join("; ") + ")" : "";
      return item.name + ": " + text(about, most) + where + made;
    };
    pane.say = (interval) => {
      const about = data.layers[layer];
      if (pane.picked) { pane.readout.textContent = described(pane.picked, interval); return; }
      const ranked = items().map((item) => [value(item, interval), item]).filter(([most]) => level(about, most) > 0)
        .sort((one, other) => other[0] - one[0]);
      pane.readout.textContent = !ranked.length ? "Nothing in this interval."
        : "Highest: " + ranked.slice(0, 3).map(([, item]) => described(item, interval)).join("; ");
    };
    pane.draw = (interval) => {
      const about = data.layers[layer];
      const paint = (item, step) => {
        for (let old = 0; old < 6; old += 1) item.mark.classList.remove("p" + old);
        item.mark.classList.add("p" + step);
      };
      ends.forEach((item) => paint(item, about.nodes && !own.cells ? 0 : level(about, value(item, interval))));
      // The highest step is drawn above the other cables.
      if (!own.cells && !about.nodes) {
        const first = box.querySelector("svg g");
        ends.filter((item) => level(about, value(item, interval))).map((item) => [level(about, value(item, interval)), item])
          .sort(([one], [other]) => one - other).forEach(([, item]) => first.parentNode.insertBefore(item.mark, first));
      }
      hosts.forEach((item) => paint(item, about.nodes ? level(about, value(item, interval)) : 0));
      pane.empty.hidden = Object.keys(own.layers[layer].values).length > 0;
      pane.empty.textContent = own.layers[layer].empty;
      pane.say(interval);
    };
    pane.pick = (item) => {
      if (pane.picked) pane.picked.mark.classList.remove("picked");
      pane.picked = item;
      if (item) {
        item.mark.classList.add("picked");
        if (!own.cells && item.ends.length) item.mark.parentNode.insertBefore(item.mark, item.mark.parentNode.querySelector("g"));
      }
      pane.say(Number(slider.value));
    };

    const near = (event) => nearestPart(event, items());
    box.addEventListener("pointermove", (event) => { const item = near(event); if (item !== pane.picked) pane.pick(item); });
    box.addEventListener("click", (event) => pane.pick(near(event)));
    box.addEventListener("pointerleave", () => { if (document.activeElement !== box) pane.pick(null); });
    box.addEventListener("blur", () => pane.pick(null));
    box.addEventListener("keydown", (event) => {
      const all = items();
      if (!all.length) return;
      const now = all.indexOf(pane.picked);
      const device = now < 0 ? -1 : all[now].device;
      const first = (wanted) => all.find((item) => item.device === wanted);
      const devices = [...new Set(all.map((item) => item.device))];
      const turn = (by) => devices[(devices.indexOf(device) + by + devices.length) % devices.length];
      const below = (by) => {
        if (!own.cells || now < 0) return first(turn(by));
        const column = all.filter((item) => item.column === all[now].column);
        return column[(column.indexOf(all[now]) + by + column.length) % column.length];
      };
      const to = {
        ArrowRight: () => all[(now + 1) % all.length],
        ArrowLeft: () => all[(Math.max(now, 0) + all.length - 1) % all.length],
        ArrowDown: () => below(1),
        ArrowUp: () => below(-1),
        Home: () => all[0],
        End: () => all[all.length - 1],
        Escape: () => null,
      }[event.key];
      if (!to) return;
      event.preventDefault();
      pane.pick(to());
      if (pane.picked) pane.picked.mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    pane.turned = () => pane.width !== box.clientWidth;
    pane.rootMark = () => own.root >= 0 && !own.cells ? id("n" + own.root) : box.querySelector(".rootcell");
    pane.toRoot = () => {
      const mark = pane.rootMark();
      pane.width = box.clientWidth;
      if (!mark || box.scrollWidth <= box.clientWidth) return;
      const its = mark.getBoundingClientRect();
      const frame = box.getBoundingClientRect();
      box.scrollLeft += its.left + its.width / 2 - frame.left - frame.width / 2;
    };
    return pane;
  });

  // A bar for every interval above the slider: as high as places show something, in the colour of the highest value.
  const bars = () => {
    const about = data.layers[layer];
    const most = new Array(data.clocks.length).fill(0);
    const places = new Array(data.clocks.length).fill(0);
    data.panes.forEach((own) => Object.values(own.layers[layer].values).forEach((changes) => {
      for (let row = 0; row < changes.length; row += 2) {
        const until = row + 2 < changes.length ? changes[row + 2] : most.length;
        const step = level(about, changes[row + 1]);
        for (let interval = changes[row]; step && interval < until; interval += 1) {
          most[interval] = Math.max(most[interval], step);
          places[interval] += 1;
        }
      }
    }));
    const widest = Math.max(1, ...places);
    strip.innerHTML = most.map((step, interval) =>
      `<i class="p${step}" style="height:${2 + 20 * places[interval] / widest}px"></i>`).join("");
  };

  const draw = () => {
    const interval = Number(slider.value);
    clock.textContent = data.clocks[interval];
    slider.setAttribute("aria-valuetext", data.clocks[interval]);
    panes.forEach((pane) => pane.draw(interval));
  };
  const choose = (number) => {
    layer = number;
    const about = data.layers[number];
    buttons.forEach((button, its) => button.setAttribute("aria-pressed", String(its === number)));
    shown.textContent = about.title + ": " + about.measure + ".";
    scale.innerHTML = about.legend;
    panes.forEach((pane) => pane.pick(null));
    bars();
    draw();
  };
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "▶"; play.ariaLabel = "Play"; };
  buttons.forEach((button, number) => button.addEventListener("click", () => choose(number)));
  slider.addEventListener("input", () => { stop(); draw(); });
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "❚❚";
    play.ariaLabel = "Pause";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      draw();
      if (slider.value === slider.max) stop();
    }, 250);
  });
  const open = () => {
    stop();
    slider.value = data.interval;
    choose(data.layer);
    panes.forEach((pane) => pane.toRoot());
  };
  // The link leads to the top of the figure; on a small screen the root may be below the edge there.
  const lead = (event) => {
    open();
    const mark = panes.map((pane) => pane.rootMark()).find((it) => it);
    if (!mark) return;
    const below = mark.getBoundingClientRect().bottom - figure.getBoundingClientRect().top;
    if (below + 2 * parseFloat(getComputedStyle(figure).scrollMarginTop || 0) < 0.85 * innerHeight) return;
    event.preventDefault();
    mark.scrollIntoView({ block: "center", inline: "nearest" });
  };
  document.querySelectorAll(`a[data-opens][href="#${figure.id}"]`).forEach((link) => link.addEventListener("click", lead));
  addEventListener("resize", () => panes.forEach((pane) => { if (pane.turned()) pane.toRoot(); }));
  open();
});
