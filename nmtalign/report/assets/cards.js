// What begins in a notebook: the cards of some pairs, without the tools of a report.

import { bar, list, measureRoom, onPaper, room, root } from "./page.js";
import { pairs } from "./pairs/pairs.js";
import { copySentences } from "./pairs/sentences.js";
import { redraw, render, show } from "./list.js";
import { listKeys } from "./tools/keys.js";
import { drawKey, makeToolbar } from "./tools/toolbar.js";

function layOut(paper) {
  root.toggleAttribute("data-paper", paper);
  measureRoom();
  redraw(drawKey);
}

// A notebook cannot look into the frame of a card: the card tells how high it is, now and when it changes.
function tellHeight() {
  window.parent.postMessage({ height: Math.ceil(root.getBoundingClientRect().height) + 1 }, "*");
}

makeToolbar();
drawKey();
bar.open = false;
root.dataset.notebook = "";
list.after(bar); // the card comes first
measureRoom();
show(pairs);
new ResizeObserver(() => {
  const before = room;
  measureRoom();
  if (Math.abs(room - before) <= 8 || onPaper()) return;
  redraw();
}).observe(list);
new ResizeObserver(tellHeight).observe(root);
window.addEventListener("message", tellHeight); // the notebook asks when it has loaded the frame
document.addEventListener("copy", copySentences);
document.addEventListener("chosen", () => redraw(drawKey));
window.addEventListener("scroll", render, { passive: true });
window.addEventListener("resize", render);
window.addEventListener("beforeprint", () => layOut(true));
window.addEventListener("afterprint", () => layOut(false));
listKeys();
root.dataset.ready = "";
