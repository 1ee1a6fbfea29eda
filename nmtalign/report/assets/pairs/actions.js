// The buttons of a card: its picture and its address.

import { byId, html, root, svg } from "../page.js";
import { saveCard } from "./picture.js";

const ICONS = {
  image: "M2.5 3.5h11v9h-11zM2.5 10.5l3-3 3 3 2-2 3 3M10 6.2h.1",
  link: "M6.5 9.5l3-3M7.5 4.5l1.2-1.2a2.6 2.6 0 0 1 3.8 3.8l-1.5 1.4M8.5 11.5l-1.2 1.2a2.6 2.6 0 0 1-3.8-3.8l1.5-1.4",
};

function toolButton(name, icon, label, act) {
  const about = { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" };
  const picture = svg("svg", about, svg("path", { d: ICONS[icon] }));
  const node = html("button", { type: "button", class: name, "aria-label": label }, picture, html("span", {}, label));
  node.addEventListener("click", act);
  return node;
}

export function toolsOf(pair) {
  const tools = html("div", { class: "card-tools" });
  tools.append(toolButton("save", "image", "Save image", () => saveCard(pair)));
  if (root.dataset.kind === "report") {
    tools.append(toolButton("copy-link", "link", "Copy link", () => copyAddress(pair)));
  }
  return tools;
}

// The address of the page with the pair and the word that is kept.
async function copyAddress(pair) {
  const { href } = window.location;
  const theme = root.dataset.theme ? `&theme=${root.dataset.theme}` : "";
  const place = `pair-${pair.n}${tellPin(pair.pinned)}${theme}`;
  try {
    await window.navigator.clipboard.writeText(`${href.split("#")[0]}#${place}`);
    byId("live").textContent = "The link is copied.";
  } catch {
    window.location.hash = place;
    byId("live").textContent = "The browser refuses to copy; the link is in the address bar.";
  }
}

const tellPin = (pinned) => {
  if (!pinned) return "";
  return pinned.side ? `&pin=${pinned.side}${pinned.i}` : `&pin=${pinned.s}-${pinned.t}`;
};
