"use strict";
(function () {
  document.querySelectorAll(".cmd").forEach(function (row) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      var text = row.querySelector("code").textContent;
      var done = function () { button.textContent = "Copied"; };
      if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, select); } else { select(); }
      function select() { getSelection().selectAllChildren(row.querySelector("code")); }
    });
    row.append(button);
  });
  addEventListener("hashchange", open);
  open();
  function open() {
    var at = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (at && at.tagName === "DETAILS") { at.open = true; }
  }
  var field = document.getElementById("filter");
  if (!field) { return; }
  var cards = Array.from(document.querySelectorAll(".card"));
  var shown = document.getElementById("shown");
  document.getElementById("tools").hidden = false;
  field.addEventListener("input", function () {
    var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    var count = 0;
    cards.forEach(function (card) {
      var text = card.textContent.toLowerCase();
      card.hidden = !words.every(function (word) { return text.includes(word); });
      count += card.hidden ? 0 : 1;
    });
    shown.textContent = count + " of " + cards.length + " shown";
  });
}());
