// The buttons of a card: its picture and its address.

import { download, html, root, svg } from "../page.js";
import { asPng, asText, drawPicture } from "./picture.js";

const ICONS = {
  image: "M2.5 3.5h11v9h-11zM2.5 10.5l3-3 3 3 2-2 3 3M10 6.2h.1",
  link: "M6.5 9.5l3-3M7.5 4.5l1.2-1.2a2.6 2.6 0 0 1 3.8 3.8l-1.5 1.4M8.5 11.5l-1.2 1.2a2.6 2.6 0 0 1-3.8-3.8l1.5-1.4",
  more: "M4 6.5l4 4 4-4",
  pen: "M3 13l.8-3.2L11 2.6 13.4 5 6.2 12.2z",
  undo: "M3 6h6.5a3.5 3.5 0 0 1 0 7H6M3 6l3-3M3 6l3 3",
};
const TOLD_SECONDS = 6;

export function iconOf(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

function actionButton(name, label, act, icon = null) {
  const about = { type: "button", class: name, "aria-label": label };
  const node = html("button", about, icon && iconOf(icon), html("span", {}, label));
  node.addEventListener("click", act);
  return node;
}

export function toolsOf(pair, redraw) {
  const picture = () => drawPicture(pair, redraw);
  const menu = html(
    "details",
    { class: "menu" },
    html("summary", { "aria-label": "Save the image as a file" }, iconOf("more")),
    html(
      "div",
      {},
      actionButton("save-png", "Save PNG", () => savePng(pair, asPng(picture()))),
      actionButton("save-svg", "Save SVG", () => saveSvg(pair, picture())),
    ),
  );
  const close = () => menu.removeAttribute("open");
  menu.addEventListener("click", (event) => event.target.closest("button") && close());
  menu.addEventListener("focusout", (event) => menu.contains(event.relatedTarget) || close());
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    menu.querySelector("summary").focus();
  });
  const tools = html("div", { class: "card-tools" });
  tools.append(actionButton("copy-image", "Copy image", () => copyImage(pair, asPng(picture())), "image"), menu);
  if (root.dataset.kind === "report") {
    tools.append(actionButton("copy-link", "Copy link", () => copyAddress(pair), "link"));
  }
  if (root.dataset.kind === "report") tools.append(editButton(pair, redraw));
  tools.append(html("span", { class: "done", role: "status" }));
  return tools;
}

// Begin to correct the links of a card, and end it.
function editButton(pair, redraw) {
  const name = () => (pair.editing ? "Done" : "Edit");
  const node = actionButton("edit", name(), () => {
    Object.assign(pair, { editing: !pair.editing, pinned: null });
    node.setAttribute("aria-pressed", String(pair.editing));
    node.setAttribute("aria-label", name());
    node.lastChild.textContent = name();
    redraw();
    node.focus({ preventScroll: true }); // the word that had the focus is drawn anew
  }, "pen");
  node.setAttribute("aria-pressed", String(pair.editing));
  return node;
}

export function tellDone(pair, text) {
  const told = pair.card.querySelector(".done");
  told.textContent = text;
  setTimeout(() => told.textContent === text && told.replaceChildren(), 1000 * TOLD_SECONDS);
}

const fileNameOf = (pair) => `pair-${pair.n}`;

async function savePng(pair, png, told = "") {
  const name = `${fileNameOf(pair)}.png`;
  download(name, [await png], "image/png");
  tellDone(pair, `${told}${name} is saved.`);
}

function saveSvg(pair, picture) {
  const name = `${fileNameOf(pair)}.svg`;
  download(name, [asText(picture)], "image/svg+xml");
  tellDone(pair, `${name} is saved.`);
}

// A browser that refuses the clipboard gets a file. The picture is promised, for some browsers take no later one.
async function copyImage(pair, png) {
  try {
    await window.navigator.clipboard.write([new window.ClipboardItem({ "image/png": png })]);
    tellDone(pair, "The image is copied.");
  } catch {
    await savePng(pair, png, "The browser refuses to copy; ");
  }
}

// The address of the page with the pair and the word that is kept.
async function copyAddress(pair) {
  const { href } = window.location;
  const theme = root.dataset.theme ? `&theme=${root.dataset.theme}` : "";
  const place = `${fileNameOf(pair)}${tellPin(pair.pinned)}${theme}`;
  try {
    await window.navigator.clipboard.writeText(`${href.split("#")[0]}#${place}`);
    tellDone(pair, "The link is copied.");
  } catch {
    window.location.hash = place;
    tellDone(pair, "The browser refuses to copy; the link is in the address bar.");
  }
}

const tellPin = (pinned) => {
  if (!pinned) return "";
  return pinned.side ? `&pin=${pinned.side}${pinned.i}` : `&pin=${pinned.s}-${pinned.t}`;
};
