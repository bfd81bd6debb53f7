// Keys that hold on every page: "/" goes to the search field, "j" and "k" to the next and the previous item.
addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const goal = { "/": "[data-key='find']", j: "[data-key='next']", k: "[data-key='previous']" }[event.key];
  const found = goal && document.querySelector(goal);
  if (!found) return;
  event.preventDefault();
  if (found.matches("input")) found.focus();
  else found.click();
});

// A choice in a toolbar takes effect at once; without a script there is a button for it.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.querySelector("[type=submit]")?.setAttribute("hidden", "");
  form.addEventListener("change", () => form.requestSubmit());
}

// Browsers keep what was chosen in a form when one comes back; it must say what the page shows.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-auto]")) form.reset();
});
