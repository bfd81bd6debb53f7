// In a site of files: finds a query by its words. The index is loaded when somebody wants it, not with every page.
const find = document.querySelector("[data-index]");
const found = document.getElementById("found");

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = window.rankscopeQueries || [];
  const fit = words.length ? all.filter(([text]) => words.every((word) => text.toLowerCase().includes(word))) : [];
  found.hidden = !words.length;
  found.replaceChildren(
    ...fit.slice(0, 20).map(([text, file]) => {
      const link = document.createElement("a");
      link.href = file;
      link.textContent = text;
      link.dir = "auto";
      const line = document.createElement("li");
      line.append(link);
      return line;
    }),
  );
  const more = document.createElement("li");
  more.className = "dim";
  more.textContent = fit.length > 20 ? `${fit.length - 20} more; add a word` : fit.length ? "" : "No query has these words.";
  if (more.textContent) found.append(more);
}

function load() {
  const index = document.createElement("script");
  index.src = find.dataset.index;
  index.addEventListener("load", show);
  document.head.append(index);
}

if (find) {
  find.closest("label").hidden = false;
  find.addEventListener("focus", load, { once: true });
  find.addEventListener("input", show);
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found.querySelector("a")?.click();
    if (event.key === "Escape") found.hidden = true;
  });
}
