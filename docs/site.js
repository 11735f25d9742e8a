// The theme adds these with its own script. A button to copy code is no landmark for navigation, and
// the keyboard has to reach a table that scrolls.
function repair() {
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    buttons.setAttribute("role", "none");
  }
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    table.tabIndex = 0;
  }
}

new MutationObserver(repair).observe(document.body, { childList: true, subtree: true });
repair();
