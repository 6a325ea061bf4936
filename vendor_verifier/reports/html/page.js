(function () {
  "use strict";
  var root = document.documentElement;

  function all(selector, inside) {
    return Array.prototype.slice.call((inside || document).querySelectorAll(selector));
  }

  // Sorting: figures that were not measured stay last, whichever way the others go.
  function key(row, column, kind) {
    var cell = row.cells[column];
    if (kind === "text") return cell.textContent.trim().toLowerCase();
    return cell.dataset.n === undefined ? null : Number(cell.dataset.n);
  }

  function sort(button) {
    var head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
    var before = head.getAttribute("aria-sort");
    var way = before === "ascending" ? "desc" : before === "descending" ? "asc" : button.dataset.first;
    var sign = way === "asc" ? 1 : -1, column = head.cellIndex, kind = button.dataset.sort;
    var rows = all("tr", body).map(function (row, place) {
      return { row: row, place: place, key: key(row, column, kind) };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      if (a.key === b.key) return a.place - b.place;
      return (kind === "text" ? a.key.localeCompare(b.key) : a.key - b.key) * sign;
    });
    rows.forEach(function (item) { body.appendChild(item.row); });
    all("th[aria-sort]", table).forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", way === "asc" ? "ascending" : "descending");
  }

  // Filtering: rows and vendors that do not fit are hidden, in charts they fade.
  function filter(input) {
    var section = document.getElementById(input.dataset.filter);
    var wanted = input.value.trim().toLowerCase(), fits = {}, shown = 0;
    all("#" + input.dataset.filter + "r tbody tr").forEach(function (row) {
      var fit = row.cells[0].textContent.toLowerCase().indexOf(wanted) >= 0;
      fits[row.dataset.v] = fit;
      shown += fit ? 1 : 0;
    });
    all("[data-v]", section).forEach(function (item) {
      var fit = fits[item.dataset.v] !== false;
      if (item.ownerSVGElement) item.classList.toggle("off", !fit);
      else item.hidden = !fit;
    });
    var output = section.querySelector("output");
    output.textContent = wanted ? output.dataset.shown.replace("#", String(shown)) : "";
  }

  // A place inside closed parts is opened with them and takes the focus.
  function openTarget() {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    var closed = target && target.closest("details");
    if (!closed) return;
    for (var part = closed; part; part = part.parentElement.closest("details")) part.open = true;
    closed.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView();
  }

  // A month of so many requests, or of so many tokens: the one that was filled in last counts.
  function money(usd) {
    if (usd >= 1000) return "$" + Math.round(usd).toLocaleString("en-US");
    if (usd >= 0.095 || usd === 0) return "$" + usd.toFixed(2);
    return "$" + usd.toFixed(1 - Math.floor(Math.log10(usd)));
  }

  function volume(inputs) {
    inputs.addEventListener("input", function (event) {
      var filled = event.target, by = filled.name, number = Number(filled.value);
      all("input", inputs).forEach(function (other) { if (other !== filled) other.value = ""; });
      all("#" + inputs.dataset.volume + " td.monthly").forEach(function (cell) {
        var usd = cell.dataset[by] === undefined || filled.value === "" ? null : cell.dataset[by] * number;
        if (usd === null) delete cell.dataset.n; else cell.dataset.n = String(usd);
        cell.textContent = usd === null ? "\u2013" : money(usd);
      });
    });
  }

  function openAll(button) {
    var details = all("#" + button.dataset.open + " details.vendor");
    var open = !details.every(function (item) { return item.open; });
    details.forEach(function (item) { item.open = open; });
    var words = button.textContent;
    button.textContent = button.dataset.other;
    button.dataset.other = words;
  }

  function toggleTheme() {
    var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    var now = root.dataset.theme || (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("button");
    var link = event.target.closest("a[href^='#']");
    if (button && button.dataset.sort) sort(button);
    else if (button && button.dataset.open) openAll(button);
    else if (button && button.id === "theme") toggleTheme();
    else if (button && button.id === "print") window.print();
    // The address may already be the link's: then no change of it is announced.
    if (link && link.getAttribute("href") === location.hash) openTarget();
  });
  all("input[data-filter]").forEach(function (input) {
    input.addEventListener("input", function () { filter(input); });
  });
  all("[data-volume]").forEach(volume);
  window.addEventListener("hashchange", openTarget);
  openTarget();

  // On paper the drill-down is open, with three examples a vendor; afterwards everything is as it was.
  var closed = [];
  window.addEventListener("beforeprint", function () {
    closed = all("details.vendor:not([open]), details.warnings:not([open]), details.fold:not([open])");
    all("details.vendor").forEach(function (vendor) {
      var examples = all("details.example", vendor).slice(0, 3);
      var shown = examples.length ? examples.concat(examples[0].parentElement) : [];
      closed = closed.concat(shown.filter(function (item) { return !item.open; }));
    });
    closed.forEach(function (item) { item.open = true; });
  });
  window.addEventListener("afterprint", function () {
    closed.forEach(function (item) { item.open = false; });
  });
})();
