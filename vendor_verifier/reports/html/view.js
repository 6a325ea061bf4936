(function () {
  "use strict";
  var words = JSON.parse(document.body.dataset.words), all = JSON.parse(document.body.dataset.overview);
  var form = document.getElementById("filter"), found = document.getElementById("found");
  var tablePart = document.getElementById("table"), questionPart = document.getElementById("question");
  var more = document.getElementById("more"), asked = 0;

  // Every text of a vendor is set as text: nothing of it is ever read as HTML.
  function make(name, text, className) {
    var made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function add(parent) {
    for (var i = 1; i < arguments.length; i++) if (arguments[i]) parent.appendChild(arguments[i]);
    return parent;
  }

  function said(name, values) {
    return words[name].replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, function (_, key, one, others) {
      return others ? values[key] + " " + (values[key] === 1 ? one : others) : values[key];
    });
  }

  function get(path, query, then) {
    var number = ++asked;
    fetch("data/" + path + "?" + new URLSearchParams(query)).then(function (answer) {
      if (!answer.ok) throw new Error(answer.status);
      return answer.json();
    }).then(function (value) { if (number === asked) then(value); }).catch(function () {
      found.textContent = words.view_lost;
    });
    found.textContent = words.view_loading;
  }

  function options(name, pairs) {
    var select = form.elements[name];
    add(select, new Option(words.view_all, ""));
    pairs.forEach(function (pair) { add(select, new Option(pair[1], pair[0])); });
    select.parentElement.hidden = pairs.length < 2;
  }

  function chip(standing) {
    var made = make("span", standing === "fine" ? "✓" : all.standings[standing], "stands stands-" + standing);
    made.title = all.standings[standing];
    return made;
  }

  function heading(column) {
    return all.runs.length > 1 ? all.runs[column.run] + " · " + column.label : column.label;
  }

  function filter() {
    var query = {};
    new FormData(form).forEach(function (value, key) { if (value) query[key] = value; });
    return query;
  }

  function load(first) {
    var query = filter();
    query.first = first;
    get("table", query, function (part) {
      var body = tablePart.querySelector("tbody");
      if (first === 0) body.replaceChildren();
      part.rows.forEach(function (row) { body.appendChild(tableRow(row)); });
      var shown = first + part.rows.length;
      found.textContent = said("view_found", { found: part.found, questions: all.questions });
      more.hidden = shown >= part.found;
      more.onclick = function () { load(shown); };
    });
  }

  function tableRow(row) {
    var link = make("a", row.title || row.sample), line = make("tr");
    link.href = "#" + new URLSearchParams({ model: row.model, suite: row.suite, sample: row.sample });
    add(line, add(make("td", null, "asked"), link, make("div", row.suite + " · " + row.sample, "id")));
    all.columns.forEach(function (column) {
      var cell = make("td");
      row.answers.forEach(function (answer) {
        if (answer.run === column.run && answer.label === column.label) add(cell, chip(answer.standing));
      });
      add(line, cell);
    });
    line.onclick = function (event) { if (event.target !== link) link.click(); };
    return line;
  }

  function folded(title, inner) {
    var made = make("details", null, "data");
    return add(made, make("summary", title), inner);
  }

  function showQuestion(value) {
    var part = questionPart, messages = make("div"), tools = make("div"), answers = make("div", null, "answers");
    var back = make("a", words.view_back), differ = make("label"), box = make("input");
    back.href = "#";
    value.messages.forEach(function (message) {
      add(messages, make("h4", message.role), make("p", message.text, "said"));
    });
    value.tools.forEach(function (tool) {
      add(tools, make("h4", tool.name), make("p", tool.description, "said"), make("pre", tool.parameters));
    });
    box.type = "checkbox";
    box.id = "differ";
    add(differ, box, document.createTextNode(" " + words.view_difference));
    value.answers.forEach(function (answer) { add(answers, answerCard(answer, value.tools)); });
    box.onchange = function () { part.classList.toggle("differ", box.checked); toggle(answers, box.checked); };
    part.replaceChildren();
    add(part, add(make("p"), back), add(make("section", null, "card"), make("h2", words.view_asked),
      make("p", value.model + " · " + value.suite + " · " + value.sample, "id quiet"),
      value.redacted && make("p", value.redacted, "note"), messages,
      value.tools.length && folded(words.view_tools + " (" + value.tools.length + ")", tools),
      value.expected && add(make("p"), make("b", words.view_expected + ": "), make("code", value.expected))),
      add(make("p"), differ), answers);
    found.textContent = "";
    part.hidden = false;
    tablePart.hidden = form.hidden = true;
    back.focus();
  }

  function toggle(answers, on) {
    answers.querySelectorAll(".plainly").forEach(function (each) { each.hidden = on; });
    answers.querySelectorAll(".difference").forEach(function (each) { each.hidden = !on; });
  }

  function answerCard(answer, tools) {
    var card = make("article", null, "card"), title = make("h3", heading(answer)), text = make("div", null, "plainly");
    if (answer.is_baseline) add(title, make("small", " " + words.view_baseline));
    add(card, title, make("small", said("view_repetition", { number: answer.repetition })));
    answer.reasons.forEach(function (reason) { add(card, make("p", reason, "stands stands-call")); });
    if (answer.reasoning) add(card, folded(words.view_thinking, make("p", answer.reasoning, "said")));
    add(text, make("p", answer.text || words.view_no_text, answer.text ? "said" : "quiet"));
    answer.calls.forEach(function (call, place) { add(text, callPart(call, answer, place)); });
    add(card, text);
    if (answer.difference) {
      var changed = make("p", null, "said difference");
      answer.difference.forEach(function (part) {
        var name = { same: "span", out: "del", "in": "ins" }[part[0]];
        add(changed, make(name, part[1]), document.createTextNode(" "));
      });
      changed.hidden = true;
      add(card, changed);
    } else text.className = "";
    if (answer.timing) add(card, momentsPart(answer.timing));
    answer.failures.forEach(function (failure) { add(card, make("p", failure, "note")); });
    var facts = [answer.decision, answer.finish, answer.served_model];
    if (answer.attempts > 1) facts.push(said("view_tried", { n: answer.attempts }));
    Object.keys(answer.values).forEach(function (name) { facts.push(name + " " + answer.values[name]); });
    if (answer.usage) Object.keys(answer.usage).forEach(function (name) {
      if (answer.usage[name] !== null) facts.push(name + " " + answer.usage[name]);
    });
    add(card, make("p", facts.filter(Boolean).join(" · "), "note"));
    if (answer.curl) add(card, folded(words.view_again, make("pre", answer.curl)));
    return card;
  }

  function callPart(call, answer, place) {
    var verdict = answer.verdicts.length === answer.calls.length ? answer.verdicts[place].verdict : "";
    var part = make("div", null, "call" + (verdict && verdict !== "valid" ? " bad" : ""));
    add(part, make("code", call.name + "(" + call.arguments + ")"), verdict && make("small", " " + verdict));
    answer.violations.forEach(function (each) {
      if (each.tool === call.name) add(part, make("p", [each.pointer, each.message].filter(Boolean).join(": "), "note"));
    });
    return part;
  }

  function momentsPart(timing) {
    var space = "http://www.w3.org/2000/svg", picture = document.createElementNS(space, "svg");
    picture.setAttribute("class", "moments");
    picture.setAttribute("viewBox", "0 0 1000 26");
    picture.setAttribute("preserveAspectRatio", "none");
    function piece(name, facts) {
      var made = document.createElementNS(space, name);
      Object.keys(facts).forEach(function (key) { made.setAttribute(key, facts[key]); });
      picture.appendChild(made);
    }
    piece("rect", { x: 0, y: 4, width: 1000, height: 18 });
    timing.chunk_ms.forEach(function (ms) {
      var x = 1000 * ms / Math.max(timing.end_ms, 0.001);
      piece("line", { x1: x, x2: x, y1: 4, y2: 22 });
    });
    var made = make("div", null, "timing");
    var first = timing.first_token_ms === null ? "–" : Math.round(timing.first_token_ms);
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", words.view_timing);
    return add(made, picture, make("small", said("view_first_token", {
      ms: first, end: Math.round(timing.end_ms), n: timing.chunks
    })));
  }

  function route() {
    var query = new URLSearchParams(location.hash.slice(1));
    if (query.get("sample")) {
      get("question", query, showQuestion);
      return;
    }
    questionPart.hidden = true;
    tablePart.hidden = form.hidden = false;
    load(0);
  }

  var waiting;
  form.addEventListener("input", function () { clearTimeout(waiting); waiting = setTimeout(load, 250, 0); });
  form.addEventListener("submit", function (event) { event.preventDefault(); load(0); });
  window.addEventListener("hashchange", route);
  options("standing", Object.keys(all.standings).map(function (name) { return [name, all.standings[name]]; }));
  options("suite", all.suites.map(function (name) { return [name, name]; }));
  options("model", all.models.map(function (name) { return [name, name]; }));
  options("label", Array.from(new Set(all.columns.map(function (column) { return column.label; }))).map(function (name) {
    return [name, name];
  }));
  var head = tablePart.querySelector("thead tr");
  add(head, make("th", words.view_sample));
  all.columns.forEach(function (column) { add(head, make("th", heading(column))); });
  all.runs.forEach(function (run, number) {
    var link = make("a", words.view_report + (all.runs.length > 1 ? " " + run : ""));
    link.href = "report/" + number;
    add(document.getElementById("reports"), link, document.createTextNode(" "));
  });
  more.textContent = words.view_more;
  route();
})();
