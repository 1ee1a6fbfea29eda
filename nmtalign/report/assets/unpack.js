// Unpacks the script of a page, and the style sheet of a small one; its security policy allows them, by their hashes.

const packedText = atob(document.getElementById("packed").textContent);
const packedBytes = Uint8Array.from(packedText, (letter) => letter.charCodeAt(0));
const unpacked = new Blob([packedBytes]).stream().pipeThrough(new DecompressionStream("deflate"));
for (const [tag, text] of Object.entries(JSON.parse(await new Response(unpacked).text()))) {
  const node = document.createElement(tag);
  node.textContent = text;
  document.head.append(node);
}
