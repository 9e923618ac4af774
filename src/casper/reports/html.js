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

for (const element of document.querySelectorAll(".scripted")) element.hidden = element.id === "selection";

// Fold all sections, unfold them, and unfold the one that a link leads to.
const fold = (open) => document.querySelectorAll("details.section").forEach((section) => { section.open = open; });
document.querySelector("#unfold").addEventListener("click", () => fold(true));
document.querySelector("#fold").addEventListener("click", () => fold(false));
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", () => { document.querySelector(link.hash).open = true; });
}

// Compare the two runs that were ticked last: the settings that differ, and the matrices next to each other.
const chosen = [];
const bar = document.querySelector("#selection");
const dialog = document.querySelector("#comparison");
const make = (tag, ...content) => {
  const element = document.createElement(tag);
  element.append(...content);
  return element;
};
const settingsOf = (run) => new Map([...run.querySelectorAll(".settings tr")].map((row) => [row.cells[0].textContent, row.cells[1].textContent]));
const showSelection = () => {
  bar.hidden = chosen.length === 0;
  bar.querySelector("span").textContent = chosen.length === 1 ? "One run selected; tick another one." : "Two runs selected.";
  bar.querySelector("#compare").disabled = chosen.length < 2;
};
const drop = (box) => {
  box.checked = false;
  chosen.splice(chosen.indexOf(box), 1);
};
for (const box of document.querySelectorAll(".run > input")) {
  box.addEventListener("change", () => {
    if (box.checked) chosen.push(box); else drop(box);
    if (chosen.length > 2) drop(chosen[0]);
    showSelection();
  });
}
bar.querySelector("#clear").addEventListener("click", () => {
  while (chosen.length) drop(chosen[0]);
  showSelection();
});
bar.querySelector("#compare").addEventListener("click", () => {
  const runs = chosen.map((box) => box.parentElement);
  const [one, other] = runs.map(settingsOf);
  const keys = [...new Set([...one.keys(), ...other.keys()])].filter((key) => key !== "run" && one.get(key) !== other.get(key));
  const table = make("table", make("thead", make("tr", ...["setting", "first", "second"].map((text) => make("th", text)))), make("tbody"));
  table.className = "differing";
  for (const key of keys) {
    table.tBodies[0].append(make("tr", ...[key, one.get(key) ?? "\u2013", other.get(key) ?? "\u2013"].map((text) => make("td", text))));
  }
  const sides = runs.map((run, place) => {
    const name = make("span", settingsOf(run).get("run"));
    name.className = "note";
    const line = `${place ? "Second" : "First"}: ${run.querySelector("summary").textContent}`;
    return make("div", make("p", line), name, run.querySelector(".matrix").cloneNode(true));
  });
  const both = make("div", ...sides);
  both.className = "two";
  const differences = keys.length ? table : make("p", "No setting differs.");
  dialog.querySelector("div").replaceChildren(both, make("h3", "Settings that differ"), differences);
  dialog.showModal();
});
dialog.querySelector("#close").addEventListener("click", () => dialog.close());
