// What the page does beyond links and forms: search while typing, keys in the review, copy buttons, and
// news from the server. Everything else works without this file. Nothing here inserts text of a skill as
// markup: results come rendered from the page's own server.
"use strict";

(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);

  // Search while typing. The address follows, so that a reload or a link shows the same.
  const results = one("#results");
  const search = results && one("form[data-search]");
  if (search) {
    let asked = 0;
    let timer;
    const look = async () => {
      const mine = ++asked;
      const query = new URLSearchParams();
      for (const [name, value] of new FormData(search)) if (value) query.append(name, value);
      const address = query.size ? `/?${query}` : "/";
      query.append("part", "results");
      try {
        const answer = await fetch(`/?${query}`, { headers: { accept: "text/html" } });
        if (!answer.ok) throw new Error(answer.statusText);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        // A slow answer to an earlier question must not replace a later one.
        if (mine !== asked) return;
        // The number stays in its place, so that a screen reader says that it changed.
        const [found, now] = [one(".found"), page.querySelector(".found")];
        found.textContent = now.textContent;
        now.remove();
        results.replaceChildren(...page.body.childNodes);
        history.replaceState(null, "", address);
      } catch {
        if (mine === asked) location.assign(address);
      }
    };
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(look, 120);
    });
    search.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      look();
    });
  }

  // Other lists apply a filter when it is chosen.
  for (const form of all("form[data-search]")) {
    if (form === search) continue;
    for (const select of all("select", form)) select.addEventListener("change", () => form.requestSubmit());
  }

  // On a narrow screen the navigation scrolls; the section that is shown stands in sight.
  one(".bar nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

  // Copy buttons.
  for (const button of all("button[data-copy]")) {
    button.hidden = false;
    const words = button.textContent;
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector("code"));
        return;
      }
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = words; }, 1500);
    });
  }

  // The queue says how many skills are selected, and selects all that it shows.
  const everything = one("input[data-select-all]");
  if (everything) {
    const boxes = all("input[name=chosen]");
    const note = one("[data-selected]");
    const count = () => {
      const chosen = boxes.filter((box) => box.checked).length;
      note.textContent = chosen ? note.dataset.selected.replace("{}", chosen) : "";
      everything.checked = chosen === boxes.length;
      everything.indeterminate = chosen > 0 && chosen < boxes.length;
    };
    everything.closest("label").hidden = false;
    everything.addEventListener("change", () => {
      for (const box of boxes) box.checked = everything.checked;
      count();
    });
    for (const box of boxes) box.addEventListener("change", count);
    // A browser keeps what was selected when its user comes back.
    addEventListener("pageshow", count);
  }

  // A decision is sent once, however often its button is pressed.
  for (const form of all("form[method=post]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  addEventListener("pageshow", () => {
    for (const form of all("form[data-sent]")) delete form.dataset.sent;
  });

  // Keys can be switched off: who speaks to a browser, or hits keys by accident, would decide by mistake.
  const stored = () => {
    try {
      return localStorage.getItem("skillwire-keys") === "off";
    } catch {
      return false;
    }
  };
  let off = stored();
  const keys = one("button[data-keys]");
  const tell = () => {
    if (!keys) return;
    const state = one("[data-keys-state]");
    keys.textContent = off ? keys.dataset.on : keys.dataset.keys;
    state.textContent = off ? state.dataset.keysState : "";
  };
  if (keys) {
    keys.hidden = false;
    keys.addEventListener("click", () => {
      off = !off;
      try {
        localStorage.setItem("skillwire-keys", off ? "off" : "on");
      } catch { /* It holds for this view alone. */ }
      tell();
    });
    tell();
  }
  addEventListener("storage", () => { off = stored(); tell(); });

  // Keys. None works while the reader types, or with a modifier, which belongs to the browser.
  addEventListener("keydown", (event) => {
    if (off) return;
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "/") {
      const field = one("input[type=search]");
      if (field) {
        event.preventDefault();
        field.focus();
      }
      return;
    }
    if (event.key === "u") {
      one("button[data-undo]")?.click();
      return;
    }
    const queue = one("[data-queue]");
    if (queue && event.key === "x") {
      document.activeElement.closest("li")?.querySelector("input[type=checkbox]")?.click();
      return;
    }
    if (queue && (event.key === "j" || event.key === "k")) {
      const titles = all("a.title", queue);
      const step = event.key === "j" ? 1 : -1;
      const now = titles.indexOf(document.activeElement);
      titles[Math.max(0, Math.min(titles.length - 1, now + step))]?.focus();
      return;
    }
    const meant = all("[data-key]").find((element) => element.dataset.key === event.key);
    if (meant) {
      event.preventDefault();
      meant.click();
    }
  });

  // Times in the reader's own time zone.
  for (const time of all("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = time.dateTime;
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  }

  // News from the server. They change counters and offer a link; what the reader looks at stays as it is
  // until they want to see it.
  const live = one(".live");
  const follows = document.body.dataset.follows;
  if (live && follows !== undefined && window.EventSource) {
    const news = live.querySelector(".news");
    const lost = live.querySelector(".lost");
    const stream = new EventSource("/events");
    let failed = 0;
    stream.addEventListener("open", () => {
      failed = 0;
      lost.hidden = true;
    });
    // A single failure is a pause; the browser tries again, unless the session has ended.
    stream.addEventListener("error", () => {
      failed += 1;
      if (failed > 1 || stream.readyState === EventSource.CLOSED) lost.hidden = false;
    });
    stream.addEventListener("change", (event) => {
      const now = JSON.parse(event.data);
      for (const counter of all("[data-live=waiting]")) {
        counter.textContent = now.waiting.toLocaleString("en");
        counter.hidden = now.waiting === 0;
      }
      // The page says what was known when it was made.
      if (!follows || Number(document.body.dataset[follows]) === now[follows]) return;
      // A list without a single row has nothing that could move.
      const typing = document.activeElement?.closest("input, select, textarea");
      if (one(".empty[data-fills]") && !typing) {
        location.reload();
        return;
      }
      news.querySelector("a").href = location.href;
      news.hidden = false;
    });
    addEventListener("pagehide", () => stream.close());
  }
})();
