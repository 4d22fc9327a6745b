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
  document.addEventListener('triage-plot', () => openTab('plots', document.querySelector('[data-plots]')?.dataset.plots));
  /* A tab that has no room stands in the menu behind the others, by its words alone. */
  const openTab = (name, words) => (document.querySelector(`#tri-tabs [role=tab]#tri-tab-${name}-button`)
    || [...document.querySelectorAll('#tri-tabs .overflow-dropdown button')].find((b) => b.textContent.trim() === words))?.click();
  document.addEventListener('click', (event) => {
    const go = event.target.closest('[data-tab]');
    if (go) { openTab(go.dataset.tab, go.dataset.words); document.querySelector('#tri-tabs').scrollIntoView({ block: 'nearest' }); }
  });
  document.addEventListener('change', (event) => {
    if (event.target.closest('#tri-lang')) localStorage.setItem('triage-lang', event.target.value);
  });
  /* The page is called after its case, has its address, and speaks its language. */
  window.triageSeen = (head) => {
    const seen = head.querySelector('[data-lang]');
    if (!seen) return;
    const base = new URL(window.gradio_config?.root || location.origin).pathname.replace(/\/$/, '');
    const address = seen.dataset.case ? `${base}/case/${seen.dataset.case}` : `${base}/`;
    document.title = seen.dataset.title ? `${seen.dataset.title} · triage` : 'triage';
    document.documentElement.lang = seen.dataset.lang;
    document.querySelector('#tri-right').dataset.tabs = seen.dataset.tabs;
    if (location.pathname !== address) history.replaceState(null, '', address);
  };
  /* The last question at the upper edge: its answer begins below it. */
  window.triageTop = () => setTimeout(() => {
    const asked = [...document.querySelectorAll('#tri-chat .message-row.user-row, #tri-chat .user-row')].pop();
    const box = document.querySelector('#tri-chat .bubble-wrap');
    if (asked && box) box.scrollTop += asked.getBoundingClientRect().top - box.getBoundingClientRect().top - 8;
  }, 120);
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
    await copy(button.dataset.copy || location.href);
    const label = button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}
