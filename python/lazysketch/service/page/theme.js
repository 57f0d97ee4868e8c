// Runs before the first paint, so that a chosen theme never flashes.
"use strict";
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is refused: the theme of the system stands.
}
