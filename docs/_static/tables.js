"use strict";
// Long tables: a click on a heading sorts by it, another turns the order round; a field filters rows.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) {
    const body = table.tBodies[0];
    if (!table.tHead || !body || body.rows.length < 12) continue;
    const rows = [...body.rows];
    const text = (row, column) => (row.cells[column] ? row.cells[column].textContent.trim() : "");
    const headings = [...table.tHead.rows[0].cells];
    const sort = (column) => {
      const up = headings[column].getAttribute("aria-sort") !== "ascending";
      const number = (row) => parseFloat(text(row, column).replace(/,/g, ""));
      const numeric = rows.every((row) => !text(row, column) || Number.isFinite(number(row)));
      const empty = (row) => text(row, column) === "";
      rows.sort((a, b) => {
        if (empty(a) || empty(b)) return empty(a) - empty(b);  // gaps last, whichever way round
        const order = numeric ? number(a) - number(b) : text(a, column).localeCompare(text(b, column));
        return up ? order : -order;
      });
      for (const heading of headings) heading.removeAttribute("aria-sort");
      headings[column].setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows);
    };
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(column));
      heading.append(button);
    });
    const field = document.createElement("input");
    field.type = "search";
    field.className = "filter";
    field.placeholder = "Show only rows with …";
    field.setAttribute("aria-label", "Show only rows of the table with this text");
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const said = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => said.includes(word));
      }
    });
    (table.closest(".pst-scrollable-table-container") || table).before(field);
  }
});
