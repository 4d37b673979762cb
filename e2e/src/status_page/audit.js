(() => {
  const faults = [];
  const label = (element) => `<${element.localName}> ${JSON.stringify(element.textContent.trim().slice(0, 40))}`;
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.body.querySelectorAll("*")].filter((it) => {
      const box = it.getBoundingClientRect();
      return box.right > root.clientWidth + 1 && box.width > 1;
    });
    faults.push(`the page is ${root.scrollWidth} px wide: ${label(wide.at(-1) ?? document.body)}`);
  }
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(heading.localName[1]);
    if (own > level + 1) faults.push(`a heading is skipped before ${label(heading)}`);
    level = own;
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.querySelector("thead th[scope=col]")) faults.push(`a table without headers: ${label(table)}`);
    for (const row of table.querySelectorAll("tbody tr")) {
      if (!row.querySelector("th[scope=row]")) faults.push(`a row without a header: ${label(row)}`);
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((it) => it.id);
  for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) faults.push(`two elements have the id ${id}`);
  for (const it of document.querySelectorAll("[aria-labelledby]")) {
    if (!document.getElementById(it.getAttribute("aria-labelledby"))) faults.push(`no name for ${label(it)}`);
  }
  const channels = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found[3] ?? 1 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const behind = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const { rgb, alpha } = channels(getComputedStyle(it).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return [255, 255, 255];
  };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, style, svg, option")) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const ratio = contrast(channels(style.color).rgb, behind(element));
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${label(element)}`);
    if (parseFloat(style.fontSize) < 10) faults.push(`text of ${style.fontSize}: ${label(element)}`);
  }
  if (texts < 5) faults.push(`only ${texts} texts`);
  for (const path of document.querySelectorAll(".spark .line")) {
    const ratio = contrast(channels(getComputedStyle(path).stroke).rgb, behind(path.closest("td")));
    if (ratio < 3) faults.push(`contrast ${ratio.toFixed(2)} of a sparkline`);
  }
  for (const svg of document.querySelectorAll("svg:not([aria-hidden])")) {
    if (!svg.querySelector("title")?.textContent) faults.push("a picture without a title");
  }
  return faults;
})()
