() => {
  const remembered = localStorage.getItem('triage-theme');
  if (remembered) document.body.classList.toggle('dark', remembered === 'dark');
  window.triageTheme = () => {
    const dark = document.body.classList.toggle('dark');
    localStorage.setItem('triage-theme', dark ? 'dark' : 'light');
    window.triagePlots?.again();
  };
  window.triageHints = () => setTimeout(() => {
    for (const box of document.querySelectorAll('#tri-path input, #tri-verify-path input')) box.placeholder = box.ariaLabel || '';
  }, 50);
  document.addEventListener('triage-plot', () => document.querySelector('#tri-tabs [role=tab]#tri-tab-plots-button')?.click());
  const narrow = () => window.innerWidth < 860;
  const toggle = () => document.querySelector('#tri-side .toggle-button, .sidebar .toggle-button')?.click();
  window.triageNarrow = () => { if (narrow()) toggle(); };
  window.triageNarrow();
  const copy = async (text) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const box = Object.assign(document.createElement('textarea'), { value: text });
    document.body.append(box); box.select(); document.execCommand('copy'); box.remove();
  };
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    await copy(button.dataset.copy);
    const label = button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}
