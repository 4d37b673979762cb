(() => {
  const it = document.activeElement;
  if (!it || it === document.body) return { name: "", seen: false };
  const style = getComputedStyle(it);
  const box = it.getBoundingClientRect();
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.bottom > 0;
  return { name: `${it.localName} ${(it.getAttribute("name") ?? it.textContent).trim()}`.trim(), seen };
})()
