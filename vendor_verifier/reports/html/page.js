(function () {
  "use strict";

  // What was not measured stays last, whichever way the others go.
  function sort(button) {
    var head = button.closest("th"), body = head.closest("table").tBodies[0], column = head.cellIndex;
    var way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    var rows = Array.from(body.rows).map(function (row, place) {
      var cell = row.cells[column], number = cell.dataset.n;
      return { row: row, place: place, key: number === undefined ? column ? null : cell.textContent : Number(number) };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      return (a.key < b.key ? -way : a.key > b.key ? way : 0) || a.place - b.place;
    });
    rows.forEach(function (item) { body.appendChild(item.row); });
    head.parentElement.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
  }

  // Not every browser opens the folded part that a link leads into.
  function open() {
    var target = location.hash && document.getElementById(location.hash.slice(1));
    var part = target && target.closest("details");
    if (!part) return;
    part.open = true;
    part.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView();
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("th button"), link = event.target.closest("a[href^='#']");
    if (button) sort(button);
    if (link && link.getAttribute("href") === location.hash) open();
  });
  window.addEventListener("hashchange", open);
  open();
})();
