/** Whether a key is meant for the page: not for a field, a dialog or the browser. */
export function isForPage({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isField = target instanceof Element && target.closest('input, textarea, select, [contenteditable]')
  return !isField && !ctrlKey && !metaKey && !altKey && !document.querySelector('dialog[open]')
}
