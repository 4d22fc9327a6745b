const send = async (input) => {
  const files = [...input.files], note = element.querySelector('.tri-note'), limit = Number(note.dataset.limit);
  input.value = '';
  if (!files.length) return;
  if (files.length > limit) { note.textContent = note.dataset.many; return; }
  const sent = [];
  try {
    for (const file of files) {
      const { path } = await upload(file);
      sent.push({ path, name: file.webkitRelativePath || file.name });
      note.textContent = `${sent.length} / ${files.length}`;
    }
    note.textContent = '';
    trigger('upload', { files: sent });
  } catch (error) { note.textContent = note.dataset.failed; }
};
element.addEventListener('change', (e) => { if (e.target.matches('input[type=file]')) send(e.target); });
element.addEventListener('click', (e) => {
  const button = e.target.closest('[data-open]');
  if (button) element.querySelector(`input.${button.dataset.open}`).click();
});
