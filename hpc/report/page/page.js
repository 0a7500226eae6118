"use strict";
// The timelines: ranks as rows, blocks as colours, kinds of work as shades; only what is in view
// is drawn. Wheel and buttons zoom, dragging and arrow keys move.
for (const place of document.querySelectorAll(".timeline")) {
  const data = JSON.parse(place.parentElement.querySelector(".spans").textContent);
  draw(place, data);
}

function draw(place, data) {
  const NS = "http://www.w3.org/2000/svg";
  const ROW = 44, BAR = 30, TOP = 22, BOTTOM = 40, LEFT = 62, RIGHT = 14;
  const height = TOP + ROW * data.ranks + BOTTOM;
  const end = data.spans.reduce((most, s) => Math.max(most, s[4] + s[5]), 1);
  const longest = data.spans.reduce((most, s) => Math.max(most, s[5]), 0);
  const waits = new Set(data.waiting);
  let [from, to] = data.shown, width = 800, dragged = null;

  const plot = place.querySelector(".plot");
  const svg = node("svg", { role: "img", tabindex: 0, "aria-label": "Timeline of all ranks" }, plot);
  const tools = place.querySelector(".tools");
  const told = document.createElement("output");
  for (const [text, title, act] of [
    ["+", "zoom in", () => zoom(0.5, 0.5)],
    ["−", "zoom out", () => zoom(2, 0.5)],
    ["←", "earlier", () => move(-0.5)],
    ["→", "later", () => move(0.5)],
    ["a few steps", "as at first", () => show(...data.shown)],
    ["all", "the whole timeline", () => show(0, end)],
  ]) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text, title });
    button.setAttribute("aria-label", title);
    button.addEventListener("click", act);
    tools.append(button);
  }
  tools.append(told);
  legend();

  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT);
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, share)));
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    dragged = [event.clientX, from, to];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const [x, first, last] = dragged;
    const shift = (x - event.clientX) / (width - LEFT - RIGHT) * (last - first);
    show(first + shift, last + shift);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    svg.addEventListener(name, () => { dragged = null; });
  }
  svg.addEventListener("keydown", (event) => {
    const act = {
      ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25),
      "+": () => zoom(0.8, 0.5), "-": () => zoom(1.25, 0.5),
    }[event.key];
    if (act) { act(); event.preventDefault(); }
  });
  new ResizeObserver(() => requestAnimationFrame(() => {
    const now = Math.max(300, Math.round(plot.clientWidth));
    if (now !== width) { width = now; paint(); }
  })).observe(plot);
  width = Math.max(300, Math.round(plot.clientWidth));
  paint();

  function zoom(factor, share) {
    const length = Math.min(end, Math.max(5, (to - from) * factor));
    const at = from + share * (to - from);
    show(at - share * length, at - share * length + length);
  }
  function move(share) { show(from + share * (to - from), to + share * (to - from)); }
  function show(first, last) {
    const length = Math.min(last - first, end);
    from = Math.min(Math.max(0, first), Math.max(0, end - length));
    to = from + length;
    paint();
  }

  function node(name, attributes, parent, text) {
    const made = document.createElementNS(NS, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }
  function milliseconds(us) {
    return (us / 1000).toLocaleString("en", { maximumFractionDigits: us < 1e4 ? 3 : 1 });
  }

  function paint() {
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const inner = width - LEFT - RIGHT;
    const x = (us) => LEFT + (us - from) / (to - from) * inner;
    for (let rank = 0; rank < data.ranks; rank++) {
      node("text", { x: LEFT - 8, y: TOP + rank * ROW + BAR / 2 + 4, "text-anchor": "end", class: "tick" },
        svg, `rank ${rank}`);
    }
    axis(x, inner);
    const last = new Map(), begun = new Map();
    for (const span of data.spans) {
      const [rank, kind, step, block, begin, length] = span;
      if (begin > to) break;
      if (begin + length < from) { begun.set(rank, step); continue; }
      if (begun.get(rank) !== step) {
        begun.set(rank, step);
        if (begin >= from) mark(x(begin), rank, step, last);
      }
      bar(span, x);
    }
    told.textContent = `${milliseconds(from)} to ${milliseconds(to)} ms` +
      (data.left_out ? `; ${data.left_out.toLocaleString("en")} spans before and after are left out` : "");
  }

  function bar([rank, kind, step, block, begin, length], x) {
    const start = Math.max(LEFT, x(begin)), stop = Math.min(width - RIGHT, x(begin + length));
    if (stop - start < 0.4) return;
    const name = data.kinds[kind], y = TOP + rank * ROW;
    const own = name === "load" || name === "validate";
    const look = waits.has(name) ? "waits" : own ? name : `block ${name} c${block % 13}`;
    const inset = look === "waits" ? 4 : 0;
    const made = node("rect", {
      class: look, x: start.toFixed(2), y: y + inset,
      width: (stop - start).toFixed(2), height: BAR - 2 * inset,
    }, svg);
    node("title", {}, made,
      `rank ${rank}, step ${step}: ${name}, block ${block}, ${milliseconds(length)} ms`);
    const text = `${{ teacher: "T", student: "S" }[name] || ""}${block}`;
    if (/^[TS]/.test(text) && stop - start > 7 * text.length + 6) {
      node("text", {
        class: `label ${name}-label`, x: (start + stop) / 2, y: y + BAR / 2 + 4,
        "text-anchor": "middle",
      }, svg, text);
    }
  }

  function mark(at, rank, step, last) {
    const y = TOP + rank * ROW;
    node("line", { class: "begin", x1: at, x2: at, y1: y - 9, y2: y + BAR }, svg);
    if (at - (last.get(rank) ?? -99) < 9 + 7 * String(step).length || at > width - RIGHT - 26) return;
    last.set(rank, at);
    node("text", { class: "tick", x: at + 3, y: y - 2, "font-size": 10 }, svg, String(step))
      .style.fontSize = "10.5px";
  }

  function axis(x, inner) {
    const rough = (to - from) / Math.max(2, Math.floor(inner / 110));
    const power = 10 ** Math.floor(Math.log10(rough));
    const apart = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
    const y = TOP + ROW * data.ranks;
    for (let at = Math.ceil(from / apart) * apart; at <= to; at += apart) {
      node("line", { class: "grid", x1: x(at), x2: x(at), y1: TOP - 12, y2: y }, svg);
      node("text", { class: "tick", x: x(at), y: y + 14, "text-anchor": "middle" }, svg, milliseconds(at));
    }
    node("text", { class: "name", x: LEFT + inner / 2, y: y + 33, "text-anchor": "middle" }, svg,
      "time [ms]; small numbers are steps");
  }

  function legend() {
    const list = document.createElement("ul");
    list.className = "legend";
    const blocks = [...new Set(data.spans.map((s) => s[3]))].sort((a, b) => a - b);
    const entry = (look, text, style) => {
      const item = document.createElement("li"), key = document.createElement("i");
      key.className = `key ${look}`;
      Object.assign(key.style, style || {});
      item.append(key, text);
      list.append(item);
    };
    for (const block of blocks) entry(`c${block % 13}`, `block ${block}`);
    const shades = { teacher: "0.5", reduce: "0.8" };
    for (const kind of data.kinds) {
      if (waits.has(kind)) continue;
      if (kind === "load") entry("w2", "load");
      else if (kind === "validate") entry("w0", "validate");
      else if (kind in shades) entry("c0", `${kind} (paler)`, { opacity: shades[kind] });
      else if (kind === "update") entry("c0", "update (darker)", { filter: "brightness(.75)" });
    }
    if (data.waiting.length) {
      entry("", `waiting: ${data.waiting.join(", ")}`, { border: "1px dashed var(--w0)" });
    }
    place.prepend(list);
  }
}
