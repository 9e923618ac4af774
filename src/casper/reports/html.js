"use strict";
// Sort a table by the column whose head is pressed: first the greatest on top, then the least. Cells without a number
// stay below.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const text = column === 0;
      const up = head.getAttribute("aria-sort") === (text ? null : "descending") || head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sign = up ? 1 : -1;
      const key = (row) => {
        const cell = row.cells[column];
        if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
        return text ? cell.textContent : null;
      };
      const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
      rows.sort(([one], [other]) => {
        if (one === null || other === null) return (one === null) - (other === null);
        return sign * (typeof one === "string" ? one.localeCompare(other) : one - other);
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}
