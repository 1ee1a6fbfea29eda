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
  if (Math.abs(room - before) > 8 && !onPaper()) redraw();
}).observe(list);
document.addEventListener("copy", copySentences);
document.addEventListener("chosen", () => redraw(drawKey));
window.addEventListener("scroll", render, { passive: true });
window.addEventListener("resize", render);
window.addEventListener("beforeprint", () => layOut(true));
window.addEventListener("afterprint", () => layOut(false));
listKeys();
root.dataset.ready = "";
