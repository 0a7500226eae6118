"use strict";
// What is wrong with the page in the frame: elements wider than it, words that are cut off, words
// of a picture that overlap. Of letters, 4 pixels of height are leading.
function measured(frame) {
  const page = frame.contentDocument, width = frame.clientWidth;
  const box = (element) => element.getBoundingClientRect();
  const seen = (element) => box(element).width && box(element).height;
  const every = (where) => [...page.querySelectorAll(where)].filter(seen);
  const told = (e) => `${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`;

  const wide = every("body *").filter((e) =>
    !e.closest(".numbers") && (box(e).right > width + .5 || box(e).left < -.5));
  const cut = every(".tiles div, .notes, h1, h2, nav a, .facts dd").filter((e) =>
    e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline");
  const over = [];
  for (const svg of every("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter(seen);
    texts.forEach((e, i) => {
      const a = box(e), edge = box(svg);
      if (a.left < edge.left - 1 || a.right > edge.right + 1) over.push([e.textContent, "edge"]);
      for (const other of texts.slice(i + 1)) {
        const b = box(other);
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 4) over.push([e.textContent, other.textContent]);
      }
    });
  }
  return { wide: wide.map(told), cut: cut.map(told), over, texts: every("svg text").length };
}
addEventListener("load", () => setTimeout(() => {
  const found = measured(document.querySelector("iframe"));
  const text = JSON.stringify(found);
  document.body.append(Object.assign(document.createElement("pre"), { id: "measured", textContent: text }));
}, 500));
