import { createHash } from 'node:crypto'

/** This file cuts the texts of the demonstration into pieces, and computes the expected results without the system. */

/** The paragraphs of all texts that are long enough to be worth a task. */
export function paragraphs(texts: ReadonlyMap<string, string>): string[] {
  return [...texts.values()]
    .flatMap(text => text.split(/\n\s*\n/))
    .filter(paragraph => paragraph.trim().length > 40)
}

/**
 * Cuts a text into blocks. A block ends at its first empty line after `characters` characters. Joined by line breaks, the blocks are
 * the text again, so their lines and words add up to those of the text.
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
 * A word: letters and digits in a row, and the marks that join them, by the rules of Unicode (UAX #29). The handler follows the
 * same rules with `Intl.Segmenter`. The pattern works for scripts with spaces between words.
 */
const WORD =
  /[\p{L}\p{N}\p{M}_]+(?:(?:(?<=\p{L})[.'’:·](?=\p{L})|(?<=\p{N})[.,;'](?=\p{N}))[\p{L}\p{N}\p{M}_]+)*/gu

/** Counts a text by another method than the `word-count` handler. */
export function countByPattern(text: string): Count {
  const words = text.match(WORD)?.filter(word => /[\p{L}\p{N}]/u.test(word)).length ?? 0
  return { words, lines: (text.match(/\n/g)?.length ?? 0) + 1 }
}

/** The digest that the HTTP worker computes. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index)
}
