() => {
  let tab = sessionStorage.getItem('triage-tab');
  if (!tab) {
    tab = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
    sessionStorage.setItem('triage-tab', tab);
  }
  const lang = localStorage.getItem('triage-lang') || '', named = new URLSearchParams(location.search).get('case') || '';
  return JSON.stringify({ tab, lang, case: named });
}
