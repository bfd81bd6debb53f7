// In the list of queries "j" and "k" move from one to the next; Enter opens it, as any link.
addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const links = [...document.querySelectorAll(".queries tbody th a")];
  const at = links.indexOf(document.activeElement);
  const goal = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
  if (!goal) return;
  event.preventDefault();
  goal.focus();
});
