/** Text as HTML. Everything that the page shows goes through here. */

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, character => ENTITIES[character] ?? character)
}

/** Paragraphs, with code between backticks. */
export function prose(text = ''): string {
  return text
    .split('\n\n')
    .filter(paragraph => paragraph !== '')
    .map(paragraph => `<p>${withCode(escaped(paragraph))}</p>`)
    .join('')
}

function withCode(html: string): string {
  return html.replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
