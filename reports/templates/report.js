"use strict";
(function () {
  function key(row, column) {
    var cell = row.cells[column], stored = cell && cell.tagName === "TD" && (cell.querySelector("data") || {}).value;
    var text = cell ? cell.textContent.trim() : "";
    return { missing: text.charAt(0) === "–", number: parseFloat(stored || text), text: text };
  }
  function compare(a, b) {
    if (a.missing !== b.missing) return a.missing ? 1 : -1;
    if (!isNaN(a.number) && !isNaN(b.number)) return a.number - b.number;
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("thead th").forEach(function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener("click", function () {
        var up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
        table.querySelectorAll("thead th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        Array.from(body.rows)
          .map(function (row, place) { return { row: row, place: place, key: key(row, column) }; })
          .sort(function (a, b) {
            var order = compare(a.key, b.key);
            if (!a.key.missing && !b.key.missing && !up) order = -order;
            return order || a.place - b.place;
          })
          .forEach(function (entry) { body.appendChild(entry.row); });
      });
    });
  });
  var form = document.getElementById("filter"), rows = Array.from(document.querySelectorAll("[data-suite]"));
  var shown = document.getElementById("shown"), chosen = {};
  ["suite", "worker", "batch", "context"].forEach(function (name) {
    var values = Array.from(new Set(rows.map(function (row) { return row.dataset[name]; })));
    values.sort(function (a, b) { return a.localeCompare(b, undefined, { numeric: true }); });
    if (values.length < 2) return;
    var label = document.createElement("label"), select = document.createElement("select");
    label.append(name + " ", select);
    select.name = name;
    select.append(new Option("all", ""));
    values.forEach(function (value) { select.append(new Option(value, value)); });
    select.addEventListener("change", function () {
      chosen[name] = select.value;
      rows.forEach(function (row) {
        row.hidden = Object.keys(chosen).some(function (key) { return chosen[key] && row.dataset[key] !== chosen[key]; });
      });
      var cells = rows.filter(function (row) { return row.tagName === "TR" && row.closest("#advice"); });
      shown.textContent = cells.filter(function (row) { return !row.hidden; }).length + " of " + cells.length + " cells shown";
    });
    form.append(label);
    form.hidden = false;
  });
  function open() {
    var at = location.hash && document.getElementById(location.hash.slice(1));
    if (at && at.tagName === "DETAILS") { at.open = true; at.scrollIntoView(); }
  }
  addEventListener("hashchange", open);
  addEventListener("beforeprint", function () { document.querySelectorAll("details.cell").forEach(function (d) { d.open = true; }); });
  open();
})();
