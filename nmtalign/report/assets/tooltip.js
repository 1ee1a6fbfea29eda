// The tooltip, which stands where there is room for it.

import { byId, clamp, html } from "./page.js";

export const tip = byId("tip");
let place = null; // moves the tooltip to what it is about

// free(): a rectangle to leave free, as the page is now; the tooltip stands on the first of `sides` with room.
export function showTip(free, sides, { title, facts, text }) {
  const list = html("dl");
  for (const [name, value] of facts) list.append(html("dt", {}, name), html("dd", {}, value));
  tip.replaceChildren(html("strong", {}, title), html("p", {}, text), list);
  tip.hidden = false;
  place = () => stand(free(), sides);
  place();
}

function stand(box, sides) {
  const { width: w, height: h } = tip.getBoundingClientRect();
  const W = window.innerWidth;
  const H = window.innerHeight;
  const x = clamp((box.left + box.right - w) / 2, 8, Math.max(8, W - w - 8));
  const y = clamp(box.at - h / 2, 4, Math.max(4, H - h - 4));
  const places = {
    above: [x, box.top - h - 8],
    below: [x, box.bottom + 8],
    right: [box.right + 12, y],
    left: [box.left - w - 12, y],
  };
  const roomy = sides.find((side) => {
    const [a, b] = places[side];
    return a >= 4 && b >= 0 && a + w <= W - 4 && b + h <= H;
  });
  const [left, top] = places[roomy ?? "below"];
  tip.style.left = `${clamp(left, 4, Math.max(4, W - w - 4))}px`;
  tip.style.top = `${clamp(top, 4, Math.max(4, H - h - 4))}px`;
}

export const hideTip = () => {
  tip.hidden = true;
};

// What the mouse was over is scrolled away from under it; what the keys chose takes its tooltip along.
export function scrollTip() {
  if (document.activeElement.matches(":is(.token, svg):focus-visible")) place?.();
  else hideTip();
}

export function boxOf(node, at = node) {
  const { left, right, top, bottom } = node.getBoundingClientRect();
  const a = at.getBoundingClientRect();
  return { left, right, top, bottom, at: a.y + a.height / 2 };
}
