import { createHash } from 'node:crypto'

/** How the demonstration takes its texts apart, and what it finds in them without the system. */

/** The paragraphs of all texts that are long enough to be worth a task. */
export function paragraphs(texts: ReadonlyMap<string, string>): string[] {
  return [...texts.values()]
    .flatMap(text => text.split(/\n\s*\n/))
    .filter(paragraph => paragraph.trim().length > 40)
}

/**
 * Cuts a text at empty lines into blocks of some `characters` or a paragraph more; joined by line breaks they are the
 * text again, so that their lines and words add up to its own.
 */
export function blocks(text: string, characters: number): string[] {
  const found: string[] = []
  let lines: string[] = []
  let length = 0
  for (const line of text.split('\n')) {
    lines.push(line)
    length += line.length + 1
    if (line.trim() !== '' || length < characters) continue
    found.push(lines.join('\n'))
    lines = []
    length = 0
  }
  return lines.length === 0 ? found : [...found, lines.join('\n')]
}

export type Count = { readonly words: number; readonly lines: number }

/**
 * Letters and digits in a row, and what joins them within a word: as Unicode's rules have it (UAX #29), which the
 * handler follows by `Intl.Segmenter`. It holds for scripts that put spaces between words.
 */
const WORD =
  /[\p{L}\p{N}\p{M}_]+(?:(?:(?<=\p{L})[.'’:·](?=\p{L})|(?<=\p{N})[.,;'](?=\p{N}))[\p{L}\p{N}\p{M}_]+)*/gu

/** Counts a text in another way than the `word-count` handler does. */
export function countByPattern(text: string): Count {
  const words = text.match(WORD)?.filter(word => /[\p{L}\p{N}]/u.test(word)).length ?? 0
  return { words, lines: (text.match(/\n/g)?.length ?? 0) + 1 }
}

/** What the HTTP worker computes. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index)
}
