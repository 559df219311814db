// Light, dark, or as the system says; before anything is drawn, so that nothing flashes.
(() => {
  const kept = (() => { try { return localStorage.getItem("sfumato-theme"); } catch { return null; } })();
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
