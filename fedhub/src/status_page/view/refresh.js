"use strict";
// Renews what is live in place. Focus and scroll stay where they are; nothing happens while text is selected, while the
// page is hidden, or after "Pause refresh".
(() => {
  const every = Number(document.body.dataset.refresh) * 1000;
  if (!every) return;
  const part = (id) => document.getElementById(id);
  let paused = false;
  part("pause").hidden = false;
  part("pause").addEventListener("click", () => {
    paused = !paused;
    part("pause").setAttribute("aria-pressed", String(paused));
  });
  const renew = async () => {
    const answer = await fetch(location.href, { cache: "no-store", credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    if (!fresh) throw new Error("no page");
    if (paused || !getSelection().isCollapsed) return;
    const live = part("live");
    const focused = live.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    live.replaceChildren(...fresh.childNodes);
    part("updated").replaceChildren(...page.getElementById("updated").childNodes);
    document.title = page.title;
    if (focused) live.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  const tick = async () => {
    if (!paused && !document.hidden) {
      try {
        await renew();
        if (part("trouble").textContent) part("trouble").textContent = "";
      } catch {
        const said = "fedhub does not answer: this page shows what was last known.";
        if (part("trouble").textContent !== said) part("trouble").textContent = said;
      }
    }
    setTimeout(tick, every);
  };
  setTimeout(tick, every);
})();
