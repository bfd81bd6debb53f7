"use strict";
// Sorting and filtering of tables. The page says all it has to say without this script.
(() => {
  const number = (text) => {
    const value = parseFloat(text.replace(/\u2212/g, "-").replace(/,(?=\d{3})/g, "").replace(/^[^\d+\-.]*/, ""));
    return Number.isNaN(value) ? null : value;
  };
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (x !== null && y !== null) return x - y;
    if (x === null && y === null) return a.localeCompare(b, undefined, { numeric: true });
    return x === null ? 1 : -1;
  };
  const sort = (table, head, column, names) => {
    const descending = head.getAttribute("aria-sort") === "ascending" || (!head.hasAttribute("aria-sort") && column >= names);
    const text = (row) => row.cells[column].textContent;
    const order = column < names ? (a, b) => a.localeCompare(b, undefined, { numeric: true }) : compare;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [text(row), row]).sort((a, b) => order(a[0], b[0]));
    if (descending) rows.reverse();
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...rows.map((pair) => pair[1]));
  };
  const makeSortable = (table) => {
    const heads = Array.from(table.tHead.rows[0].cells);
    const names = heads.filter((head) => head.classList.contains("n")).length;
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort";
      button.addEventListener("click", () => sort(table, head, column, names));
      if (head.querySelector("a")) {
        button.setAttribute("aria-label", `Sort by ${head.textContent}`);
        if (head.classList.contains("n")) head.append(button);
        else head.prepend(button);
      } else {
        if (!head.textContent) button.setAttribute("aria-label", "Sort by this column");
        button.append(...head.childNodes);
        head.replaceChildren(button);
      }
    });
  };
  const addFilter = (table) => {
    const box = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("small");
    box.className = "filter";
    label.textContent = "Rows with";
    input.type = "search";
    label.append(" ", input);
    count.setAttribute("role", "status");
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      count.textContent = wanted ? `${shown.toLocaleString("en")} shown` : "";
    });
    box.append(label, count);
    table.closest(".wide").before(box);
  };
  for (const table of document.querySelectorAll("table")) {
    const length = table.tBodies[0].rows.length;
    if (length > 2) makeSortable(table);
    if (length > 30) addFilter(table);
  }
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not(.large, .more, .cols *, [open])"));
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
})();
